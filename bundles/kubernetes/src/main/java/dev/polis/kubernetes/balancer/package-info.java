/**
 * Passes connections of a worker's programs to the API servers of all controllers.
 *
 * <pre>
 *   kubelet, kube-proxy, DNS ──TCP──▶ LoadBalancer ──BalancedConnection──▶ API server
 *                                          │  in turn         ▲
 *   controllers, from the curator ──▶ BackendPool             │ HandshakeProbe, every 3 s
 *                                          └ Backend: dead after two probes without an answer
 * </pre>
 *
 * <p>It passes bytes and reads none of them: the clients make their TLS handshake with the API
 * server itself. A server that is removed, or dead while another one answers, loses its
 * connections, so that their clients connect again. While it has no server, it closes connections.
 *
 * <p>Not promised: a connection that survives a replacement of this code or the end of its API
 * server. Its client connects again.
 *
 * <p>Why not the API server's address in each kubeconfig: controllers come and go, and a program of
 * Kubernetes knows only one address. Why not rules of the kernel, as for Services: kube-proxy
 * writes those, and needs an API server first.
 */
package dev.polis.kubernetes.balancer;
