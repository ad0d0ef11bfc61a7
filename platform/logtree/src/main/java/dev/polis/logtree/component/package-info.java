/**
 * Provides the log tree of a node as a service, and connects its sources and the console.
 *
 * <pre>
 *   java.util.logging (SLF4J, gRPC, netty) -- JulCapture ------+
 *   the kernel of the node's own machine ---- KernelCapture ---+
 *   System.out, System.err ------------------ StreamCapture ---+--&gt; LogTree --&gt; ConsoleSink --&gt; terminal
 * </pre>
 *
 * <p>A deactivation undoes everything: it restores the former handlers and streams, and ends the
 * console's thread.
 *
 * <p>Not promised: that the output of a library which keeps a stream or handler of its own is
 * logged.
 */
package dev.polis.logtree.component;
