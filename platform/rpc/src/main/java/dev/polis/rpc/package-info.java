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
 * its successor, as many and as long as configured. The host remembers the names of an organ's
 * services, which distinguishes "away" from "unknown".
 *
 * <p>Every method states by an option who may call it; calls of a method without that option are
 * refused. A failure of any step, or of the organ's code, ends the call it happened in and no
 * other.
 *
 * <p>A user's {@link dev.polis.rpc.RpcRole} is a set of permissions. A certificate names its user
 * and no role: the host has the cluster's list of operators ({@link dev.polis.rpc.RpcOperators}),
 * and a new list decides about open calls too.
 *
 * <p>{@link dev.polis.rpc.audit.AuditLog} keeps each change with its caller in files: a changing
 * call of an authenticated peer is on the disk before its caller gets the answer.
 *
 * <p>Each call has a virtual thread of its own, which may wait. A service with {@link
 * dev.polis.rpc.NonBlockingMethods} answers some methods on the thread that read the request, since
 * the change of threads takes most of the time of a call that is answered from memory.
 *
 * <p>Virtual threads share as many carriers as the machine has processors, and a thread that
 * computes does not give its carrier back. So a call whose size its caller decides computes on
 * {@link dev.polis.rpc.ComputingThreads}: few threads of low priority, which belong to the host.
 * Its own virtual thread waits, and ends the work when its caller leaves.
 *
 * <p>{@link dev.polis.rpc.CallStreams} serves the streams of an organ that last as long as their
 * callers listen: each on a virtual thread of its own, or, if a thousand callers get the same
 * messages, on the thread that has a new message. Many streams together run on the threads that
 * write to their connections.
 *
 * <p>A refusal of an {@link dev.polis.rpc.RpcException} may name a delay for the retry, and the
 * leader that serves the request, which {@link dev.polis.rpc.LeaderHint} reads.
 *
 * <p>A client may give a change a {@link dev.polis.rpc.RequestId}, in a header. The host passes it
 * on; the organ that answers decides whether it remembers the change.
 *
 * <p>{@link dev.polis.rpc.RpcClients} is the other end: channels that know whom they may trust.
 * {@link dev.polis.rpc.BlockingStreams} ends a stream that was opened on one.
 *
 * <p>A new connection is a stranger's until its handshake shows a certificate of the cluster.
 * Strangers have little room, {@link dev.polis.rpc.StrangerRoom}, which all ports of the process
 * share: for connections ({@link dev.polis.rpc.ConnectionLimits}), for open calls and for bytes of
 * requests ({@link dev.polis.rpc.StrangerCalls}). When it is full, a new connection or call takes
 * the place of the oldest one of the source that has the most. So a flood from some addresses
 * excludes no other peer. A stranger without a call is disconnected soon, its call has a time, and
 * its stream has no handler before the first message. Members have room of their own, and no flood
 * displaces them; one member takes a third of it at most. A connection closes when the certificate
 * that it showed is revoked, or ends. The status of a listener names a flood, and the statistics
 * count what was turned away.
 *
 * <p>The open calls of members, with their requests and the answers that are not read yet, take a
 * quarter of the heap together. When they exceed it, the largest call of the member whose calls
 * take the most ends: {@code RequestRoom}, as for requests of strangers. A call is open until its
 * answer is read. If a call with an unread answer must end, its connection ends too, since a status
 * would wait behind the answer.
 *
 * <p>While the heap is nearly full, new calls are refused with RESOURCE_EXHAUSTED, so that those
 * being served can end: {@code HeapRoom}. The reports of the cluster's nodes about themselves, and
 * unary calls at the debug listener, are served nevertheless.
 *
 * <p>{@link dev.polis.rpc.TlsTask} keeps the port of an organ open whose clients speak another
 * protocol, such as HTTP/1.1 ({@link dev.polis.rpc.HttpRequests}): metrics and Kubernetes. Its
 * {@link dev.polis.rpc.TlsListener} gives each request of a connection, with its first byte unread,
 * to the organ. The organ may join a long request to another connection; then the platform passes
 * the bytes, and a replacement of the organ's code does not end it. Port and connections belong to
 * the platform: an instance of an organ that replaces another one opens the port too, and gets the
 * next request of each connection. Before that it may {@linkplain dev.polis.rpc.TlsHandler#prepare
 * prepare}, while the other one answers.
 *
 * <p>The host refuses a changing request with a field that this node does not know, since the
 * caller would believe that the node did all of it.
 *
 * <p>The largest size of each field is stated at the field ({@code max_bytes}, {@code max_items}).
 * A request with a larger one is refused before its handler, the log or a record gets it.
 *
 * <p><b>Not promised.</b> A held call lives in memory: it does not survive the process. A held call
 * is sent to the successor once; a call that had already reached the predecessor is never repeated,
 * since only the caller knows whether that is safe.
 *
 * <p><b>Why not the JDK's HTTPS server.</b> It counts connections without their owners, so the
 * first thousand strangers exclude all others; and it reports no connection before its first byte.
 *
 * <p><b>Why not refuse new connections when there are too many.</b> The connections that are open
 * are the flood, and the operator needs a new one to end it.
 *
 * <p><b>Why not grpc-java's mutable registry and interceptors.</b> The registry answers
 * UNIMPLEMENTED during a gap, which callers take as final. Interceptors may throw, may forget to
 * close a call, and see a call only after it found a handler.
 */
@Export
@Version("2.5.0")
package dev.polis.rpc;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
