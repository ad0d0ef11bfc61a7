/**
 * Runs this node's etcd as a child process, which outlives this organ.
 *
 * <pre>
 *                    ConsensusComponent (wires)
 *                            │
 *                     ConsensusService ── status, access, overview, metrics page
 *                            │ one ConsensusRun after the other, supervised as root.consensus.member
 *         ┌──────────────────┼────────────────────┬──────────────────────┐
 *   MemberPreparation   EtcdProcess          MemberSetup          MemberMaintenance ("maintenance")
 *    ConsensusDisk       start or adopt       EtcdAuthSetup        certificates: renewal
 *    ConsensusPki        wait until ready     EtcdAuthority        EtcdMaintenance: alarms,
 *    EtcdCommandLine     its log ("log")      the member record    compaction, defragmentation
 * </pre>
 *
 * <p>The state is on the disk and in etcd, never in memory only: {@code data/etcd/data} is etcd's
 * own, {@code data/etcd/peer_pki} is what etcd shows to others, {@code data/etcd/pki} holds the
 * etcd CA, the operator's root certificate and the member record, which says how far the bootstrap
 * came. A start reads that record first. It alone decides whether an empty data directory is the
 * beginning of a cluster or the loss of one.
 *
 * <pre>
 *   no record ──startNew──▶ BOOTSTRAPPING ──ready, users made, CA stored──▶ MEMBER
 *                             │      ▲ kill -9: the next startNew goes on     │ data or keys gone:
 *                             └──────┘                                        ▼ refused in words
 * </pre>
 *
 * <p>etcd knows each user by the common name of its certificate; there are no passwords. It keeps
 * each user within its prefix, so that a stolen Kubernetes certificate cannot read the curator's
 * keys.
 *
 * <p>Not promised: joining an existing cluster, replacing a lost majority, and moving a member to
 * another address while other members are there and this one has no quorum.
 *
 * <p>Why not a unix socket without authentication: every process of the machine could then read
 * every secret of the cluster. Why not {@code --initial-cluster-state existing} after the first
 * start: the flag is ignored by a member with data, but it would change the command line, and a
 * changed command line means a restart instead of an adoption.
 *
 * <ul>
 *   <li>Needs: BootReport, HandOvers, HealthRegistry, LogTree, Network, ProcessManager, Storage,
 *       Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Consensus, MetricsExporter
 *   <li>Configuration: dev.polis.consensus
 *   <li>Files: data/etcd, ephemeral/consensus
 *   <li>Ports: 7833, 7834
 * </ul>
 */
package dev.polis.consensus;
