/**
 * Serves gRPC calls of people and nodes, and makes such calls: owns the listeners, identifies the
 * callers, decides who may call which method, and passes each call to the organ that answers it.
 *
 * <pre>
 *   caller                         platform (stands still)                          bundles (move)
 *  ────────      ┌──────────────────────────────────────────────────────────┐
 *   TLS 1.3 ───▶ │ listener ─▶ identity ─▶ authorization ─▶ hold ─▶ validate │ ───▶ BindableService
 *   or plain     │    │            └────────── audit, log, statistics ───────┘ │      (whiteboard)
 *                │    └ curator 7835 · management 7839 · debug 7837            │
 *                └──────────────────────────────────────────────────────────┘
 * </pre>
 *
 * <p>The {@link dev.polis.rpc.RpcHost} owns the sockets, so that an organ can go and come back
 * while its callers stay connected. An organ registers an {@code io.grpc.BindableService} with the
 * property {@value dev.polis.rpc.RpcHost#LISTENER}. When it goes, its unary calls in flight may
 * finish, its streams end with UNAVAILABLE and a delay to retry after, and new unary calls wait for
 * its successor, as many and as long as configured. What an organ served once is remembered by
 * name: that is what tells "away" from "unknown".
 *
 * <p>Every method states by an option who may call it; calls of a method without that option are
 * refused. A failure of any step, or of the organ's code, ends the call it happened in and no
 * other.
 *
 * <p>{@link dev.polis.rpc.CallStreams} serves the streams of an organ that last as long as their
 * callers listen: each on a virtual thread of its own, or, where a thousand callers get the same
 * messages, from the thread that has a new message.
 *
 * <p>{@link dev.polis.rpc.RpcClients} is the other end: channels that know whom they may trust.
 * {@link dev.polis.rpc.BlockingStreams} ends a stream that was opened on one.
 *
 * <p>{@link dev.polis.rpc.HttpsListener} opens the sockets of organs whose clients speak HTTP/1.1:
 * metrics and Kubernetes; {@link dev.polis.rpc.HttpsTask} keeps one open at the node's address.
 * {@link dev.polis.rpc.TlsListener} and {@link dev.polis.rpc.TlsTask} do the same for a protocol
 * that the JDK's HTTP server does not speak: they give each request of a connection, with its first
 * byte unread, to the organ. A long one the organ may join to another connection; then the platform
 * passes the bytes, and a replacement of the organ's code does not end it. Such a port belongs to
 * the platform: an instance of an organ that replaces another one opens it too, and gets its
 * requests without a gap.
 *
 * <p>A request that changes something is refused if it holds a field that this node does not know;
 * a part that was done silently would be taken for the whole.
 *
 * <p><b>Not promised.</b> A held call lives in memory: it does not survive the process. A held call
 * is sent to the successor once; a call that had already reached the predecessor is never repeated,
 * since only the caller knows whether that is safe.
 *
 * <p><b>Why not grpc-java's mutable registry and interceptors.</b> The registry answers
 * UNIMPLEMENTED during a gap, which callers take as final. Interceptors may throw, may forget to
 * close a call, and see a call only after it found a handler.
 */
@Export
@Version("1.2.0")
package dev.polis.rpc;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
