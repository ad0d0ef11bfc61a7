/**
 * Implements the gRPC services for the cluster's records, with the rules of each call.
 *
 * <pre>
 *   call ──▶ AaaApi         ownership                 ┐
 *            OwnerKeysApi   another key of the owner  │
 *            CuratorApi     nodes' own reports        │
 *            ManagementApi  operators                 ├──▶ LeaderGate ──▶ RecordStore
 *            PluginSetApi   wanted plugins            │
 *            PluginTrustApi trusted keys              ┘
 *            CuratorLocalApi  who leads, at any node
 * </pre>
 *
 * <p>A method checks its request with the rules of its subject ({@code ConfigurationRules}, {@code
 * RoleChanges}, {@code WantedPluginRules}, {@code TrustedKeyRules}), then makes one update of the
 * records. A refusal names the value and changes nothing.
 *
 * <p><b>A node's address</b> is the source address of its report, or within one machine any address
 * of the machine ({@code ReportedAddress}): the curator certifies the kubelet for it. Nodes behind
 * one address share it. A node with several addresses reports the one from which it reaches the
 * leader, and a node behind address translation that of the translator. A follower forwards no
 * report, so the leader has the connection of each. Why not give an address to the node that
 * reports it first: any node could then take an address that no node has, such as that of the API
 * server's service.
 *
 * <p>Not promised: an answer of a node that does not lead. Only {@code CuratorLocalApi} gives one.
 */
package dev.polis.curator.api;
