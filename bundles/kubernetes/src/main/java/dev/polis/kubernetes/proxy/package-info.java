/**
 * Lets users of the cluster use Kubernetes: the authenticating proxy at port 6444.
 *
 * <pre>
 *   kubectl ──TLS 1.3, certificate of a user──▶ TlsTask ──▶ ProxyHandler ──mutual TLS──▶ API server
 *   others ───TLS 1.3, token──────────────────▶   │            │  X-Remote-User, X-Remote-Group
 *                                                 │            │  (a token: TLS without certificate)
 *            port and connections belong          │            ├ ProxyAccess: who is it?
 *            to the platform                      │            ├ HttpHead, HttpRequest, HttpBody: one framing
 *                                                 │            └ ProxyPool: connections that are kept
 *                                                 └── watches, followed logs, exec, attach, port-forward:
 *                                                     bytes that the platform passes (Next.Join)
 * </pre>
 *
 * <p>The API server knows no certificate of the cluster. It trusts the certificate {@code
 * metropolis-auth-proxy-client} of the aggregation CA, and each user that its bearer names. So the
 * proxy is the place where a certificate, its lifetime and its revocation are checked, with each
 * request.
 *
 * <p>A client without a certificate may have a token, such as one of a service account. The API
 * server judges it; it gets it on a connection that shows no certificate, so that nothing in the
 * request can name another user.
 *
 * <p>Requests are parsed strictly and written anew. A message with two framings, a folded header, a
 * bare line end or an oversized head is refused, so that proxy and API server never disagree on
 * where a request ends. What the client says of identities ({@code X-Remote-*}, {@code
 * Authorization}, {@code X-Forwarded-*}) is dropped.
 *
 * <p>A request that lasts (a watch, a followed log, an upgrade to SPDY or WebSocket) has a
 * connection of its own to the API server, and once it is answered the platform passes its bytes:
 * those of the client only if both sides have changed the protocol, since behind a watch they would
 * be a request that the proxy has not read. A request that is passed on to a Pod, a Service or a
 * node may be answered at any time; it is left to the platform before its answer. So all of these
 * continue while this code is replaced, and end within a second when the user's certificate ends or
 * is revoked, as any other request does. Others are answered within two seconds of a replacement,
 * or begin with the next instance.
 *
 * <p>Not promised: HTTP/2. No client insists on it: the handshake (ALPN) tells clients HTTP/1.1.
 * Trailers are dropped, no API of Kubernetes has any. A peer that stops reading a stream holds its
 * two connections and no memory.
 *
 * <p>Why not Netty's HTTP codec, which gRPC brings? As strict as it can be set, version 4.2 takes
 * 16 of the 50 requests that {@code AuthProxyTest} has refused. Behind it five of them look like
 * any other: a folded header, an empty line before a request, two spaces or a tab in its first
 * line, an extension of a chunk. On a node's JVM a proxy made of it takes 1.4 times the CPU of this
 * one, without any check. Its pipelines would end with the code that made them. And {@code
 * HttpParsersTest} compares this parser with it, which proves something only if they share no code.
 * Why not the JDK's server? It has no upgrades.
 */
package dev.polis.kubernetes.proxy;
