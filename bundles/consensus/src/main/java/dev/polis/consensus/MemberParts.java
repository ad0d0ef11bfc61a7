package dev.polis.consensus;

import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.health.HealthScope;
import dev.polis.process.ProcessManager;
import java.time.InstantSource;

/**
 * Holds the services that the parts of a member use.
 *
 * @param settings the checked configuration
 * @param files the organ's files
 * @param network the node's address
 * @param processes runs etcd
 * @param boot shows the waits of the start
 * @param health shows the faults of a running etcd
 * @param clock the clock for the validity of certificates
 * @param logName the journal of etcd's log
 */
record MemberParts(
    ConsensusSettings settings,
    ConsensusFiles files,
    Value<NetworkStatus> network,
    ProcessManager processes,
    BootReport boot,
    HealthScope health,
    InstantSource clock,
    String logName) {}
