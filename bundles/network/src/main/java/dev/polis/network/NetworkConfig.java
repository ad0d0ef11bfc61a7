package dev.polis.network;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the network organ. */
@ObjectClassDefinition(
    id = "dev.polis.network",
    name = "Network",
    description = "Finds the node's address, or configures the machine's network")
@interface NetworkConfig {

  @AttributeDefinition(
      description =
          "IP address at which others reach this node; if empty, the first of this machine that"
              + " is not loopback, else 127.0.0.1 unless DHCP will give one")
  String address() default "";

  @AttributeDefinition(
      description =
          "true: this node owns the network interfaces of its machine or network namespace, and"
              + " applies the network_config of its parameters to them, or without one asks DHCP"
              + " on the only card; false: it does not change them and refuses a network_config")
  boolean manage() default false;

  @AttributeDefinition(
      description =
          "File to which the node writes the name servers of a network_config and of DHCP, if"
              + " there are any")
  String resolver_file() default "/etc/resolv.conf";

  @AttributeDefinition(
      description =
          "Folder to which the node also writes hosts and machine-id, for the other programs of a"
              + " machine of its own; if empty, none")
  String names_folder() default "";

  @AttributeDefinition(
      description =
          "true: this node keeps the clock of its machine by time servers, and no other program"
              + " sets it; false: it does not change the clock")
  boolean clock() default false;

  @AttributeDefinition(
      description =
          "Time servers, names or addresses with commas between; if empty, those of the node"
              + " parameters")
  String time_servers() default "";
}
