/**
 * Makes this node a member of a cluster, and publishes its standing there.
 *
 * <pre>
 *   parameters (flag · fw_cfg · ESP)     sealed configuration     enrolment journal
 *            └──────────────┬──────────────────┴──────────────────────┘
 *                           ▼
 *     EnrolmentMachine  NEW ─▶ CREATING_CLUSTER ─▶ RUNNING        (BootstrapFlow)
 *                        ├───▶ REGISTERING ──────▶ RUNNING        (RegisterFlow)
 *                        └───▶ JOINING ──────────▶ RUNNING        (JoinFlow)
 *                        any error ─▶ FAILED ─▶ fatal error report
 *                           │ drives, step by step
 *        network ▶ storage ▶ consensus ▶ curator ▶ RPC host      leader of a cluster (ClusterCalls)
 *                           │
 *                           ▼
 *          Value&lt;ClusterStatus&gt;  UNKNOWN … HOME ⇄ SPLIT, DISOWNING
 * </pre>
 *
 * <p>The manager runs once for every start of its component. The disk, and not memory, guards what
 * must not happen twice: each step of a bootstrap or a registration is written to the journal on
 * the ESP before the next begins, each step may be repeated, and the journal is erased only after
 * the sealed configuration is written. A kill at any point therefore ends in the same cluster with
 * the same node id. A node with a sealed configuration never bootstraps, however its parameters
 * read.
 *
 * <p>A node that registered keeps no records and runs no etcd, until it has the role
 * ConsensusMember. Its curator sends each call to the leader, at an address of the cluster
 * directory. A member of etcd on the disk tells a start that the node keeps records. Without a
 * member, and without another curator in the directory, the node founded its cluster and has lost
 * the data. A node whose member was removed while the node was off follows the others.
 *
 * <p>During the creation of a cluster, only the journal has the cluster's half of the volume key;
 * the manager erases it there as soon as the curator has it.
 *
 * <p>Once the node is a member, {@link dev.polis.cluster.RecoveryService} seals the cluster's half
 * to a recovery key of the owner again, for an owner without one.
 *
 * <p>The newest revocation list lies beside the credentials. A node that comes back reads it before
 * it opens its listeners; if it is missing or damaged, no certificate of the cluster is accepted
 * until consensus has given the list again, and health says so.
 *
 * <p>A revocation list that names this node's certificate ends its membership ({@code Disowning}).
 * Only the cluster's CA signs such a list, so no other node can end it. The node writes the list to
 * the ESP as a proof, erases its credentials and etcd's files, closes its listeners, and stays as
 * DISOWNING, so that health and the log can still be read on its machine; each later start erases
 * what is left and ends with that reason.
 *
 * <p>Not promised: to recover from a failed enrolment by itself. What fails here (a damaged file, a
 * foreign volume, parameters that contradict each other) needs a person; the node names the fault
 * and stops, and has overwritten no file.
 *
 * <p>Why no retry loop around the whole: each organ makes its own retries under its own
 * supervision. A second loop around them would only hide the failing organ.
 *
 * <ul>
 *   <li>Needs: BootReport, Consensus, Curator, HandOvers, HealthRegistry, LogTree, Network,
 *       RpcHost, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: BindableService, ClusterManager
 *   <li>Configuration: dev.polis.cluster
 *   <li>Files: data/node/credentials/ca.pem, data/node/credentials/cert-key.pem,
 *       data/node/credentials/cert.pem, data/node/credentials/revocations.crl,
 *       esp/cluster_directory.pb, esp/parameters.json, esp/parameters.pb, esp/removal.pb
 *   <li>Ports: management
 * </ul>
 */
package dev.polis.cluster;
