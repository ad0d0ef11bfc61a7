/**
 * Keeps the keys and certificates of Kubernetes in etcd.
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
 * <p>One transaction, which requires its absence, makes each object: of controllers that start at
 * the same instant, as threads or as processes, one wins, and all use its object. The store renews
 * a certificate for the same key when a third of its life is left.
 *
 * <p>The authority id-ca signs clients, kubelets and API servers. So this code's clients check the
 * purpose of a server's certificate: its usage, and the name {@code kubernetes.default.svc} or that
 * of the program.
 *
 * <p>The API server's own certificate names the addresses of one node, so that node makes it, for a
 * key that never leaves it, and no store has it. The same applies to workers, whose certificates
 * the curator issues.
 *
 * <p><b>How long each lives, who renews it, and how the program takes the new one.</b>
 *
 * <pre>
 *   what                                  life    renewed by       taken by
 *   API server: server                    30 d    ControlMaterial  rereads the file; the next handshake shows it
 *   API server: client of kubelets,       30 d    KubePki          rereads the file within 5 min, and makes
 *     of servers that add to its API                                 its connections again
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
 * <p><b>Authorities.</b> With a third of its life left, more than three years, an authority gets a
 * new certificate for the same key and name. So all its signatures stay valid, and no program must
 * notice in time: a program that keeps the former certificate in memory can use it to its end. The
 * API server rereads both. The controller manager and the scheduler read them once, so the node
 * restarts them, which fails no call. Programs of workers keep running: newer releases replace them
 * long before the former certificate ends. Not promised: an authority with another key after a
 * theft; that needs a new cluster.
 *
 * <p><b>Keys without end.</b> Not promised: a new service account key or encryption key from time
 * to time. Neither is a certificate, so neither ends. A new service account key would make tokens
 * invalid that Pods have, unless all API servers know it before the first one signs with it; after
 * a new encryption key the API server would have to encrypt each secret again. Only controllers can
 * read the two keys: reading secrets needs etcd's data and the key of the namespace, and the API
 * server's user of etcd does not have both.
 *
 * <p>Why TLS keys are Ed25519 and the service account key is not: Kubernetes signs its tokens with
 * RSA or ECDSA only.
 */
package dev.polis.kubernetes.pki;
