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
 * proxy checks a certificate, its lifetime and its revocation with each request.
 *
 * <p>A client without a certificate may have a token, such as one of a service account. The API
 * server verifies it; the proxy passes it on a connection that shows no certificate, so that
 * nothing in the request can name another user.
 *
 * <p>The proxy parses requests strictly and writes them again. It refuses a message with two
 * framings, a folded header, a bare line end or an oversized head, so that proxy and API server
 * always agree on the end of a request. It drops the client's own headers about identities ({@code
 * X-Remote-*}, {@code Authorization}, {@code X-Forwarded-*}).
 *
 * <p>A request that lasts (a watch, a followed log, an upgrade to SPDY or WebSocket) has a
 * connection of its own to the API server, and after the answer has begun the platform passes its
 * bytes: those of the client only if both sides have changed the protocol, since after a watch they
 * would be a request that the proxy has not read. A Pod, a Service or a node may answer a request
 * at any time; the proxy gives such a request to the platform before the answer. So all of these
 * continue during a replacement of this code, and end within a second when the user's certificate
 * ends or is revoked, as any other request does. The proxy answers other requests within two
 * seconds of a replacement, or the next instance begins them.
 *
 * <p>Not promised: HTTP/2. No client requires it: the handshake (ALPN) offers clients HTTP/1.1. The
 * proxy drops trailers, which no API of Kubernetes has. A peer that stops reading a stream occupies
 * its two connections and no memory.
 *
 * <p>Why not Netty's HTTP codec, which gRPC brings? With its strictest settings, version 4.2
 * accepts 16 of the 50 requests that {@code AuthProxyTest} expects to be refused. After it five of
 * them look like any other: a folded header, an empty line before a request, two spaces or a tab in
 * its first line, an extension of a chunk. On a node's JVM a proxy made of it takes 1.4 times the
 * CPU of this one, without any check. Its pipelines would end with the code that made them. And
 * {@code HttpParsersTest} compares this parser with it, which proves something only if they share
 * no code. Why not the JDK's server? It has no upgrades.
 */
package dev.polis.kubernetes.proxy;
