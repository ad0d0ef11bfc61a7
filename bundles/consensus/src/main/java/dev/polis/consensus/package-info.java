/**
 * Runs this node's etcd as a child process that outlives this organ.
 *
 * <pre>
 *                    ConsensusComponent (wires)
 *                            │
 *                     ConsensusService ── status, access, overview, metrics page
 *                            │ EarlyStart ("early-start"): etcd of a complete member, when the volume opens
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
 *      │ ▲                    │      ▲ kill -9: the next startNew continues   ▲  │ data or keys gone:
 *      │ │                    └──────┘                                        │  ▼ refused with reason
 *      │ └──removed from etcd: all files to data/etcd-removed/ID──┐           │
 *      └────join──▶ LEARNER ──has the data of the others, gets its vote───────┘
 * </pre>
 *
 * <p>{@link dev.polis.consensus.MemberChanges} is the other side of that: the leader's curator
 * calls it for a node that comes or goes. If etcd ends because another member has removed it, the
 * run sets the files aside in one rename, and no member starts from them. Once the cluster has
 * removed the node itself, the cluster manager lets the organ erase them.
 *
 * <p>{@link dev.polis.consensus.EtcdApi} lets operators look at etcd, save it and maintain it,
 * without a quorum if need be. If most members are lost for ever, an operator orders a new cluster
 * of the local member alone ({@link dev.polis.consensus.MemberRecovery}); its record is then
 * RECOVERED until the new member serves.
 *
 * <p>The etcd of a complete member starts as soon as the data volume is open and the node has an
 * address and has heard a time server if it keeps the clock, before the cluster manager asks for
 * the member ({@link dev.polis.consensus.EarlyStart}). It needs its record, its data, its keys and
 * the command line that follows from them. The run of the member makes all checks and adopts it; no
 * client gets access before.
 *
 * <p>While the cluster has one member, no other one hears its heartbeat, and etcd waits for up to
 * ten of them at each start before it elects itself. So a member that is alone has a short
 * heartbeat ({@link dev.polis.consensus.EtcdCommandLine}). Before it adds a second member, it
 * starts etcd again with the heartbeat of the configuration; after the second vote, etcd would have
 * no leader for seconds. Maintenance does the same if it finds a second member.
 *
 * <p>etcd knows each user by the common name of its certificate; there are no passwords. It keeps
 * each user within its prefix, so that a stolen Kubernetes certificate cannot read the curator's
 * keys. It accepts members by a name in their certificates, which no user's certificate has. A
 * separate CA for members would do the same, but a data directory of an earlier version has none.
 *
 * <p>The records in etcd order a rotation of its CA, and each voter follows them ({@link
 * dev.polis.consensus.CaRotation}): it writes one file, runs again, and reports what it trusts.
 *
 * <p>If the node runs as root, etcd does not ({@link dev.polis.consensus.EtcdOwner}): it passes
 * through the organ's folder to {@code peer_pki}, which is the node's, and has {@code data} and its
 * working directory for itself. Its key is not the node's.
 *
 * <p>The organ refuses a version of etcd that is known to lose acknowledged writes, or to misorder
 * or drop the events of a watch, and names the reason ({@link dev.polis.consensus.EtcdDefect}). It
 * also refuses a pre-release.
 *
 * <p>Not promised: that the survivor of a lost majority has the writes that only the lost members
 * had; and moving a member to another address while other members are there and this one has no
 * quorum.
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
 *   <li>Provides: BindableService, Consensus, MetricsExporter
 *   <li>Configuration: dev.polis.consensus
 *   <li>Files: data/etcd, data/etcd-removed, data/node/credentials/cert-key.pem,
 *       ephemeral/consensus
 *   <li>Ports: 7833, 7834, management
 * </ul>
 */
package dev.polis.consensus;
