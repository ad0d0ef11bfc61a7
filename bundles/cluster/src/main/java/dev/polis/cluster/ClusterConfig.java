package dev.polis.cluster;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the cluster organ. */
@ObjectClassDefinition(
    id = "dev.polis.cluster",
    name = "Cluster manager",
    description = "How this node becomes a member of a cluster")
@interface ClusterConfig {

  /** The file with node parameters that the node reads before all other places; empty for none. */
  @AttributeDefinition(
      name = "Node parameters",
      description =
          "file with node parameters, which the node reads before all other places; .json is"
              + " JSON, all else binary; empty for none")
  String parameters() default "";

  /** The file in which QEMU's firmware configuration shows node parameters. */
  @AttributeDefinition(
      name = "Firmware configuration",
      description = "where QEMU's firmware configuration shows node parameters")
  String fw_cfg() default
      "/sys/firmware/qemu_fw_cfg/by_name/dev.monogon.metropolis/parameters.pb/raw";

  /**
   * The owner's recovery key, for an encrypted node that no other node can help; empty for none.
   */
  @AttributeDefinition(
      name = "Recovery key",
      description =
          "file with the owner's X25519 recovery key in PEM, for an encrypted node that no other"
              + " node can help; - for standard input; empty for none")
  String recovery_key() default "";

  /** The seconds in which consensus must become ready. */
  @AttributeDefinition(
      name = "Consensus ready within",
      description = "seconds that consensus may take to become ready",
      min = "1")
  int consensus_ready() default 60;
}
