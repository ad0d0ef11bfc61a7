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
 * start at the same instant, as threads or as processes, one wins, and all use the winner's. A
 * certificate is issued anew for the same key when a third of its life is left.
 *
 * <p>The authority id-ca signs clients, kubelets and API servers. So this code's clients look at
 * what a server's certificate is for: its usage, and the name {@code kubernetes.default.svc} or
 * that of the program.
 *
 * <p>The API server's own certificate names the addresses of one node, so it is made on that node,
 * for a key that never leaves it, and is in no store. The same goes for workers, whose certificates
 * the curator issues.
 *
 * <p><b>How long each lives, who renews it, and how the program takes the new one.</b>
 *
 * <pre>
 *   what                                  life    renewed by       taken by
 *   API server: server                    30 d    ControlMaterial  rereads the file; the next handshake shows it
 *   API server: client of kubelets,       30 d    KubePki          rereads the file within 5 min, and makes
 *     of servers that add to its API                                 its connections anew
 *   API server: client of etcd            1 a     consensus        rereads the file at each handshake
 *   controller manager, scheduler: server 30 d    KubePki          reread the file
 *   controller manager, scheduler: client 30 d    KubePki          reread within 5 min, with new connections
 *   this code's clients (master)          30 d    KubePki          KubeClient: the next request
 *   authenticating proxy: client          30 d    KubePki          ControlBackend: the next request
 *   authenticating proxy: server          30 d    cluster          the next handshake
 *   kubelet: server                       30 d    curator          rereads the file
 *   kubelet, kube-proxy, DNS: client      30 d    curator          reread within 5 min, with new connections
 *   volume provisioner: client            30 d    curator          KubeClient: the next request
 *   id-ca, aggregation-ca                 10 a    PkiStore         see below
 *   service account key, encryption key   no end  none             -
 * </pre>
 *
 * <p>RotationTest shows each row of a controller, KubernetesRotationIT each one of a worker.
 *
 * <p><b>Authorities.</b> With a third of its life left, more than three years, an authority is
 * certified anew for the same key and name. So whatever it has signed stays good, and no program
 * has to learn of it in time: one that keeps the former certificate in memory can use it to its
 * end. The API server rereads both. The controller manager and the scheduler read them once and are
 * started again, which fails no call. Programs of workers keep running: newer releases replace them
 * long before the former certificate ends. An authority with another key, after a theft, is not
 * promised: that is a new cluster.
 *
 * <p><b>Keys without end.</b> Not promised: a new service account key or encryption key from time
 * to time. Neither is a certificate, so neither ends. A new service account key would make tokens
 * invalid that Pods have, unless all API servers know it before the first one signs with it; a new
 * encryption key would have to encrypt each secret anew. Only controllers can read the two keys: it
 * takes etcd's data and the key of the namespace to read secrets, and the API server's user of etcd
 * does not have both.
 *
 * <p>Why TLS keys are Ed25519 and the service account key is not: Kubernetes signs its tokens with
 * RSA or ECDSA only.
 */
package dev.polis.kubernetes.pki;
