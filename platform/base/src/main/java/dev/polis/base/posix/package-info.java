/**
 * Makes the system calls that Java lacks.
 *
 * <p>A node mounts its data volume; one that is the first process of its machine also sets the host
 * name, collects orphans and switches the machine off. Computing threads give way to answering
 * ones. A client of DHCP sends packets before its interface has an address. Java has no API for
 * that.
 *
 * <pre>
 *   launcher ──▶ Children, Machine, Mounts ─┐
 *   storage  ──▶ Mounts, LoopDevices        ├──▶ LibC ══ java.lang.foreign ══▶ libc
 *   network  ──▶ Machine, PacketSocket      │
 *   rpc      ──▶ ThreadPriority ────────────┤
 *   files    ──▶ Errno ─────────────────────┘
 *                  │
 *                  └── PosixException: call, arguments, the error by name, what to do next
 * </pre>
 *
 * <p>Each function is linked with its first call, so that a node which needs none (a control plane
 * run by an ordinary user) never pays for it. What {@code /proc} and {@code /sys} tell is read
 * there, without a system call of our own; {@link dev.polis.base.posix.KernelFiles} knows that what
 * such a file tells of may end meanwhile.
 *
 * <p>Not promised: other systems than Linux. Numbers of flags are those of x86-64 and arm64.
 *
 * <p>Why not the commands mount, umount, losetup, reboot: an image may not have them, and their
 * errors are text. Why not JNR: it did the same with a bundle of 3.7 MB, and was a second binding
 * beside the one of the JDK.
 */
@Export
@Version("2.6.0")
package dev.polis.base.posix;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
