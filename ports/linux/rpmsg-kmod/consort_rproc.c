// SPDX-License-Identifier: GPL-2.0-only
/*
 * A core with include/consort/rpmsg as a remote processor of this kernel: the window in memory that both can
 * reach, and the handshake. All else is remoteproc's and rpmsg's own.
 *
 * The core runs before this module is loaded and after it is gone; this kernel attaches and detaches.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/remoteproc.h>
#include <linux/virtio_ring.h>

/* Of remoteproc_internal.h, which lies with the kernel's own drivers; exported to all. */
irqreturn_t rproc_vq_interrupt(struct rproc *rproc, int notifyid);

/* As in include/consort/rpmsg/window.hpp. */
#define OWN_TYPE RSC_VENDOR_START
#define OWN_MAGIC 0x47534d52U
#define OWN_FORM 1U
#define MOST_BYTES (64UL << 20)

struct own_resource {
	__le32 type, magic, form, handshake, buffers, buffers_bytes;
};

struct handshake {
	/* This kernel's line. */
	__le32 epoch, doorbell;
	u8 rest[56];
	/* The remote's. */
	__le32 acknowledged, remote_epoch, remote_doorbell, faults;
};

static ulong base;
static uint wait_ms = 1000, poll_us = 100;

module_param(base, ulong, 0400);
MODULE_PARM_DESC(base, "physical address of the window, which begins with the resource table");
module_param(wait_ms, uint, 0600);
MODULE_PARM_DESC(wait_ms, "how long the remote may take to acknowledge that this kernel attaches (1000)");
module_param(poll_us, uint, 0600);
MODULE_PARM_DESC(poll_us, "how often the remote's doorbell is looked at (100)");

struct consort_rproc {
	struct platform_device *device;
	struct rproc *rproc;
	void *window;
	size_t bytes, table_bytes;
	struct fw_rsc_vdev *vdev;
	struct handshake *shared;
	u32 buffers, buffers_bytes;
	struct rproc_subdev listener;
	struct task_struct *thread;
	/* Whether the vrings may be called for; held while they are. */
	struct mutex lock;
	bool listening;
	u32 epoch_seen;
};

static struct consort_rproc remote;

static u32 peek(const __le32 *word)
{
	u32 value = le32_to_cpu(READ_ONCE(*word));

	/* What is read after is as new as the word. */
	rmb();
	return value;
}

static void poke(__le32 *word, u32 value)
{
	/* What was written before is there when the word is. */
	wmb();
	WRITE_ONCE(*word, cpu_to_le32(value));
}

static void *at(u32 address)
{
	return remote.window + (address - base);
}

static bool inside(u32 address, size_t bytes)
{
	return address >= base && address - base <= remote.bytes && bytes <= remote.bytes - (address - base);
}

/* Where everything is, from the table; what does not lie in the window is refused. */
static int read_table(void)
{
	const struct resource_table *table = remote.window;
	const struct own_resource *own;
	u32 first = le32_to_cpu(table->offset[0]), second = le32_to_cpu(table->offset[1]);
	struct fw_rsc_hdr *header;
	int i;

	if (le32_to_cpu(table->ver) != 1 || le32_to_cpu(table->num) != 2 || first > 1024 || second > 1024 || (first | second) % 4)
		return -ENODEV;
	own = remote.window + first;
	header = remote.window + second;
	remote.vdev = (void *)header->data;
	if (le32_to_cpu(own->type) != OWN_TYPE || le32_to_cpu(own->magic) != OWN_MAGIC || le32_to_cpu(own->form) != OWN_FORM ||
	    le32_to_cpu(header->type) != RSC_VDEV || remote.vdev->num_of_vrings != 2)
		return -ENODEV;
	remote.table_bytes = second + sizeof(*header) + sizeof(*remote.vdev) + 2 * sizeof(remote.vdev->vring[0]);
	remote.buffers = le32_to_cpu(own->buffers);
	remote.buffers_bytes = le32_to_cpu(own->buffers_bytes);
	remote.shared = at(le32_to_cpu(own->handshake));
	if (!inside(le32_to_cpu(own->handshake), sizeof(*remote.shared)) || !inside(remote.buffers, remote.buffers_bytes))
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		const struct fw_rsc_vdev_vring *vring = &remote.vdev->vring[i];
		u32 entries = le32_to_cpu(vring->num), align = le32_to_cpu(vring->align);

		if (!is_power_of_2(entries) || entries > 32768 || !is_power_of_2(align) || align > PAGE_SIZE ||
		    !inside(le32_to_cpu(vring->da), vring_size(entries, align)))
			return -EINVAL;
	}
	return 0;
}

/* The window's length stands in its first page. */
static int map_window(void)
{
	const struct own_resource *own;
	const struct resource_table *table = memremap(base, PAGE_SIZE, MEMREMAP_WC);
	u64 end = 0;

	if (!table)
		return -ENOMEM;
	if (le32_to_cpu(table->ver) == 1 && le32_to_cpu(table->num) == 2 && le32_to_cpu(table->offset[0]) <= 1024) {
		own = (const void *)table + le32_to_cpu(table->offset[0]);
		end = (u64)le32_to_cpu(own->buffers) + le32_to_cpu(own->buffers_bytes);
	}
	memunmap((void *)table);
	if (end <= base + PAGE_SIZE || end - base > MOST_BYTES)
		return -ENODEV;
	remote.bytes = end - base;
	remote.window = memremap(base, remote.bytes, MEMREMAP_WC);
	return remote.window ? 0 : -ENOMEM;
}

/* Everything that the rings live in; remoteproc finds it by these names. */
static int prepare(struct rproc *rproc)
{
	struct device *dev = &remote.device->dev;
	struct rproc_mem_entry *entry;
	int i;

	for (i = 0; i < 2; i++) {
		const struct fw_rsc_vdev_vring *vring = &remote.vdev->vring[i];
		u32 da = le32_to_cpu(vring->da);
		size_t bytes = PAGE_ALIGN(vring_size(le32_to_cpu(vring->num), le32_to_cpu(vring->align)));

		entry = rproc_mem_entry_init(dev, at(da), da, bytes, da, NULL, NULL, "vdev0vring%d", i);
		if (!entry)
			return -ENOMEM;
		rproc_add_carveout(rproc, entry);
	}
	/* Not mapped: it becomes the coherent memory of the rpmsg device. */
	entry = rproc_mem_entry_init(dev, NULL, remote.buffers, remote.buffers_bytes, remote.buffers, NULL, NULL, "vdev0buffer");
	if (!entry)
		return -ENOMEM;
	rproc_add_carveout(rproc, entry);
	return 0;
}

static struct resource_table *loaded_table(struct rproc *rproc, size_t *bytes)
{
	*bytes = remote.table_bytes;
	return remote.window;
}

/* The remote lets go of the rings as they were, before they are set up anew. */
static int attach(struct rproc *rproc)
{
	ulong end = jiffies + msecs_to_jiffies(wait_ms);
	u32 epoch = peek(&remote.shared->epoch) + 1;

	remote.epoch_seen = peek(&remote.shared->remote_epoch);
	poke(&remote.shared->epoch, epoch);
	while (peek(&remote.shared->acknowledged) != epoch) {
		if (time_after(jiffies, end)) {
			dev_err(&rproc->dev, "the remote does not answer\n");
			return -ETIMEDOUT;
		}
		usleep_range(50, 100);
	}
	/* Last, so that it is the first one that is stopped: what it calls for is there. */
	if (remote.listener.node.next)
		rproc_remove_subdev(rproc, &remote.listener);
	rproc_add_subdev(rproc, &remote.listener);
	return 0;
}

static int leave(struct rproc *rproc)
{
	return 0;
}

static void kick(struct rproc *rproc, int vring)
{
	poke(&remote.shared->doorbell, peek(&remote.shared->doorbell) + 1);
}

static const struct rproc_ops ops = {
	.prepare = prepare,
	.attach = attach,
	.detach = leave,
	.stop = leave,
	.kick = kick,
	.get_loaded_rsc_table = loaded_table,
};

static int begin_to_listen(struct rproc_subdev *subdev)
{
	mutex_lock(&remote.lock);
	remote.listening = true;
	mutex_unlock(&remote.lock);
	return 0;
}

static void end_listening(struct rproc_subdev *subdev, bool crashed)
{
	mutex_lock(&remote.lock);
	remote.listening = false;
	mutex_unlock(&remote.lock);
}

/*
 * The remote has begun anew: detach and attach, as if somebody had asked for both. (A reported crash would have
 * remoteproc do it, which until Linux 6.2 at least frees the table's copy and uses it again.)
 */
static void attach_again(void)
{
	/* Where somebody else has just detached, that is how it stays. */
	if (rproc_detach(remote.rproc))
		return;
	while (!kthread_should_stop() && remote.rproc->state == RPROC_DETACHED && rproc_boot(remote.rproc))
		msleep(20);
}

static int listen(void *nothing)
{
	u32 heard = peek(&remote.shared->remote_doorbell);

	while (!kthread_should_stop()) {
		u32 now = peek(&remote.shared->remote_doorbell);
		bool anew;

		mutex_lock(&remote.lock);
		anew = remote.listening && peek(&remote.shared->remote_epoch) != remote.epoch_seen;
		if (remote.listening && !anew && now != heard) {
			heard = now;
			rproc_vq_interrupt(remote.rproc, 0);
			rproc_vq_interrupt(remote.rproc, 1);
		}
		mutex_unlock(&remote.lock);
		if (anew)
			attach_again();
		usleep_range(poll_us, poll_us + poll_us / 4 + 1);
	}
	return 0;
}

static int __init begin(void)
{
	int error = map_window();

	if (error) {
		pr_err("there is no remote at %#lx: base= is where its resource table lies\n", base);
		return error;
	}
	error = read_table();
	if (error) {
		pr_err("the resource table at %#lx is not one of include/consort/rpmsg\n", base);
		goto unmap;
	}
	mutex_init(&remote.lock);
	remote.device = platform_device_register_simple("consort-rproc", PLATFORM_DEVID_NONE, NULL, 0);
	error = PTR_ERR_OR_ZERO(remote.device);
	if (error)
		goto unmap;
	error = dma_coerce_mask_and_coherent(&remote.device->dev, DMA_BIT_MASK(32));
	if (error)
		goto device;
	error = -ENOMEM;
	remote.rproc = rproc_alloc(&remote.device->dev, "consort", &ops, NULL, 0);
	if (!remote.rproc)
		goto device;
	remote.rproc->state = RPROC_DETACHED;
	remote.rproc->auto_boot = true;
	remote.listener.start = begin_to_listen;
	remote.listener.stop = end_listening;
	remote.thread = kthread_run(listen, NULL, "consort_rproc");
	error = PTR_ERR_OR_ZERO(remote.thread);
	if (error)
		goto freed;
	error = rproc_add(remote.rproc);
	if (!error)
		return 0;
	kthread_stop(remote.thread);
freed:
	rproc_free(remote.rproc);
device:
	platform_device_unregister(remote.device);
unmap:
	memunmap(remote.window);
	return error;
}

static void __exit end(void)
{
	kthread_stop(remote.thread);
	/* It goes on, so that it can be attached to again. */
	if (remote.rproc->state == RPROC_ATTACHED)
		rproc_detach(remote.rproc);
	rproc_del(remote.rproc);
	rproc_free(remote.rproc);
	platform_device_unregister(remote.device);
	memunmap(remote.window);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A core with Consort's rpmsg endpoints as a remote processor");
