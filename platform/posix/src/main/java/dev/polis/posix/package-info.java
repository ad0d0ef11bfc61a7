/**
 * System calls behind plain Java.
 *
 * <p>A node that is the first process of its machine mounts file systems, sets the host name,
 * collects orphans and switches the machine off. Java has no words for that.
 *
 * <pre>
 *   organs ──▶ Posix (this package, plain Java types) ──▶ dev.polis.posix.jnr ──▶ jnr-ffi ──▶ libc
 *                 │
 *                 └── PosixException: call, arguments, errno by name, what to do next
 * </pre>
 *
 * <p>The native library is loaded by the first call, so that a node which needs none (a control
 * plane run by an ordinary user) never pays for it. Everything native stays in this one bundle:
 * classes that jnr generates belong to its loader, and the bundle stands still while a node runs.
 *
 * <p>Not promised: other systems than Linux. Numbers of flags are those of x86-64 and arm64.
 *
 * <p>Why not the commands mount, hostname, reboot: an image may not have them, and their errors are
 * text. Why not the JDK's foreign function interface: measured on the same calls it starts no
 * faster with an ahead-of-time cache and takes half as much memory again; the interface here would
 * let it replace jnr without a change elsewhere.
 */
@Export
@Version("1.0.0")
package dev.polis.posix;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
