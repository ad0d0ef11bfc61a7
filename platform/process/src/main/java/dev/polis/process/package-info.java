/**
 * Starts child processes that outlive the code that started them, and adopts them again.
 *
 * <p>etcd, storage servers and Kubernetes are children of a node, but not of the bundle or even the
 * JVM that happened to start them. A child runs in a session of its own, appends to a log file (a
 * pipe would break with its reader), and is described by a record. Code that needs the child calls
 * {@code ensure}, which adopts a running child with its process id.
 *
 * <pre>
 *   ensure(spec) ── record? ──no──▶ write INTENT(token) ──▶ setsid program ──▶ write STARTED(pid, start time)
 *                     │                    │  killed here: found again by the token in /proc/PID/environ
 *                     ▼                    ▼
 *             alive, same digest ─▶ adopt      NAME.log ──▶ LogTail ──▶ journal
 *             alive, other digest ─▶ stop, start
 *             dead or another's pid ─▶ start
 * </pre>
 *
 * <p>A process id alone proves nothing, since the kernel reuses it. A record counts only if the
 * machine has not restarted since, the process's start time equals the recorded one to the clock
 * tick, and the process belongs to the node's user. Descendants, daemonized or not, carry the token
 * in their environment, so that a stop can end all of them.
 *
 * <p>This package does not restart anything: {@link dev.polis.process.ProcessTask} fails with its
 * process and supervision decides. Nor does a process end because code goes away: it ends when
 * {@code stop} is called, or when its {@code ProcessTask} is stopped for a {@link
 * dev.polis.base.boot.StopReason} that ends work.
 *
 * <p>On a node that is root, a child may have an account of its own: {@link
 * dev.polis.process.Account} lists the accounts, and {@link dev.polis.process.ChildOwner} decides
 * whether a child can have its own, and gives it its files. The files are in folders of the node,
 * through which other accounts may pass but in which they cannot put a link; a child writes only in
 * its own folders.
 *
 * <p>A component declares its child as a {@link dev.polis.process.ChildPlan}: the spec, its
 * knowledge of the program ({@link dev.polis.process.ChildProgram}), and the limits of its silence.
 * {@link dev.polis.process.ProcessTask} runs a child that needs no further work; a component with
 * further work uses the {@link dev.polis.process.Child} itself. Both publish a child that does not
 * answer, with what the kernel knows of it ({@link dev.polis.process.Silence}), end one that hangs,
 * and quote the {@link dev.polis.process.LastWords} of one that has ended.
 *
 * <p>What lives in a sandbox is no child of the node. The organ that makes sandboxes, and a stop of
 * a node that was killed, find and end it with {@link dev.polis.process.SandboxProcesses} and
 * {@link dev.polis.process.Cgroup}.
 *
 * <p>{@link dev.polis.process.KilledProcess} finds out why the node itself was killed, {@link
 * dev.polis.process.ProgramFiles} whether its program has changed under it.
 *
 * <p>Not promised: the exit code of an adopted process, which only its parent learns; resource
 * limits (no cgroups are made, the kernel at hand may offer none to write to); lines written in the
 * instant of a log's truncation, see {@link dev.polis.process.LogTail}; finding a descendant that
 * wipes its own environment.
 *
 * <p>Why not systemd units: a node may itself be the first process of its machine, or an ordinary
 * process without rights. Why not pipes with a supervisor process between: one more process that
 * must never die.
 */
@Export
@Version("1.10.0")
package dev.polis.process;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
