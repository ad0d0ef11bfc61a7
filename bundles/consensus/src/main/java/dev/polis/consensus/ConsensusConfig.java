package dev.polis.consensus;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of consensus. */
@ObjectClassDefinition(
    id = "dev.polis.consensus",
    name = "Consensus",
    description = "The local etcd member")
@interface ConsensusConfig {

  @AttributeDefinition(
      description = "Path of etcd, or of its directory; if empty, the node searches PATH")
  String etcd() default "";

  @AttributeDefinition(description = "Port for clients, on the node's address")
  int client_port() default 7833;

  @AttributeDefinition(description = "Port for other members, on the node's address")
  int peer_port() default 7834;

  @AttributeDefinition(
      description =
          "Milliseconds between heartbeats of the leader, in a cluster of several members")
  int heartbeat_millis() default 50;

  // etcd waits for one to two such times before it elects a leader: at 500, less than the second
  // after which the curator replaces a leader that has ended.
  @AttributeDefinition(
      description =
          "Milliseconds without heartbeat before an election, in a cluster of several members; 5 to"
              + " 50 heartbeats")
  int election_millis() default 500;

  // Less than the cluster organ's wait for consensus, so that the error of a failed start quotes
  // etcd.
  @AttributeDefinition(description = "Seconds that etcd may take to become ready")
  int ready_seconds() default 50;

  @AttributeDefinition(
      description =
          "Size of the database in bytes at which etcd refuses writes; 2 GiB suits a machine"
              + " with 4 GiB of memory, etcd supports at most 8 GiB")
  long quota_bytes() default 2L << 30;

  @AttributeDefinition(description = "periodic (keep a span of time) or revision (keep a number)")
  String compaction_mode() default "periodic";

  @AttributeDefinition(
      description =
          "History to keep: a span such as 1h for periodic, a number of revisions for revision."
              + " A watcher that was away for longer must list everything again")
  String compaction_retention() default "1h";

  @AttributeDefinition(
      description =
          "Transactions between two raft snapshots; fewer means less memory and a faster restart")
  int snapshot_count() default 10000;

  @AttributeDefinition(description = "Seconds between two checks of the database")
  int maintenance_seconds() default 60;

  @AttributeDefinition(
      description = "Free part of the database file, in percent, at which the node defragments it")
  int defragment_percent() default 50;

  @AttributeDefinition(
      description =
          "Id of an etcd cluster whose other members are lost for ever: the node makes a new cluster"
              + " of its own member alone, from its own records; has no effect once it has done so")
  String force_new_cluster() default "";

  @AttributeDefinition(
      description = "Path of a snapshot of etcd, with force.new.cluster: the records come from it")
  String restore() default "";
}
