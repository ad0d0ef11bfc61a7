/**
 * Keys and certificates of Kubernetes, kept in etcd.
 *
 * <pre>
 *   etcd, namespace kubernetes, /kube-pki/                              KubeKeys
 *     id-ca ───────────┬─ apiserver-kubelet-client                        │ authority, identities,
 *                      ├─ controller-manager, controller-manager-client   │ service account key,
 *                      ├─ scheduler, scheduler-client                     │ encryption key
 *                      └─ master                                          ▼
 *     aggregation-ca ──┬─ front-proxy-client                       KubePki.ensure()
 *                      └─ auth-proxy-client                               │
 *     service account key (EC P-256), encryption key (secretbox) ◀────────┘ makes what is missing,
 *                                                                           renews what is due
 * </pre>
 *
 * <p>Each object is made by one transaction that is guarded by its absence: of controllers that
 * start at the same instant one wins, and all use the winner's. A certificate is issued anew for
 * the same key when a third of its life is left.
 *
 * <p>The API server's own certificate names the addresses of one node, so it is made on that node,
 * for a key that never leaves it, and is in no store. The same goes for workers, whose certificates
 * the curator issues.
 *
 * <p>Not promised: a new service account key or encryption key from time to time; both have no end.
 * Whoever has both etcd's data and the key of the namespace can read secrets; etcd's user of the
 * API server has not.
 *
 * <p>Why TLS keys are Ed25519 and the service account key is not: Kubernetes signs its tokens with
 * RSA or ECDSA only.
 */
package dev.polis.kubernetes.pki;
