/**
 * Starts, watches and stops the framework of a node.
 *
 * <pre>
 *   arguments ──▶ lock ──▶ plugin store ──▶ boot plan ──▶ framework ──▶ HOME ──▶ serve ──▶ stop
 *                  │           │                │             │          │                  │
 *                 4 if        3 if            3 if          waits      summary        0, or 1 with the
 *               it runs     damaged          refused       by name                  root cause last
 * </pre>
 *
 * <p>It lies on a plain class path. The framework's system bundle exports from there what both
 * sides must share: the boot contracts, and the interfaces of configuration and of Declarative
 * Services. The platform and its libraries lie there too, see {@link
 * dev.polis.node.SystemPackages}: they are not replaced while a node runs, and the AOT cache keeps
 * classes of the class path linked and verified. Components and organs come from bundles that the
 * plugin store names by digest; the framework's own cache is deleted at each start.
 *
 * <p>Exit codes: 0 stopped as asked; 1 failed, the last line of standard error is the root cause; 2
 * wrong command line; 3 refused before anything was started: configuration, plugins or plan; 4
 * another process has the state directory; 130 stopped by force.
 *
 * <p>How a stop is requested decides what it means. SIGTERM and SIGHUP are a restart: organs stop,
 * children and mounts stay; a node without a terminal, as a detached one, ignores SIGHUP. SIGINT
 * and {@code stop} are a power off: organs stop their children too. A second SIGINT ends the
 * process at once, and leaves children and mounts to the next one.
 *
 * <p>No stop lasts for ever. After a time the process writes down what hangs, and ends ({@link
 * dev.polis.node.StopLimit}); {@code stop} ends a process that does not do that, and what is left
 * of it. A node whose virtual threads get no processor any more says so ({@link
 * dev.polis.node.Pulse}), and a watchdog of its machine restarts that ({@link
 * dev.polis.node.Watchdog}). A JVM that gave up is reported by the next start ({@link
 * dev.polis.node.JvmError}).
 *
 * <p>Not promised: to keep a machine alive. After a fatal error on a host the process ends; only as
 * process 1 it parks. Nor are the libraries of the class path checked by digest at each start, as
 * bundles are: the JVM only compares length and time with those its cache was made from.
 *
 * <p>Why not an existing launcher? They trust the framework's cache, start by numbers written by
 * hand, and know no home to wait for.
 */
package dev.polis.node;
