package dev.polis.kubernetes.settings;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of Kubernetes. */
@ObjectClassDefinition(
    id = KubernetesSettings.PID,
    name = "Kubernetes",
    description =
        "Runs Kubernetes on nodes with the roles KubernetesController and KubernetesWorker")
public @interface KubernetesConfig {

  @AttributeDefinition(
      name = "Port",
      description = "TCP port for Kubernetes clients, on the node's address; 0: any free port",
      min = "0",
      max = "65535")
  int port() default 6444;

  @AttributeDefinition(
      name = "Programs",
      description =
          "Folder with Kubernetes' programs in bin/ and those of CNI in cni/; if empty, the node"
              + " has none, and the roles report that")
  String programs() default "";

  @AttributeDefinition(
      name = "Port of the API server",
      description = "TCP port, on the address at which controllers and workers reach this node",
      min = "1",
      max = "65535")
  int api_port() default 6443;

  @AttributeDefinition(
      name = "Port of the load balancer",
      description = "TCP port at which a worker reaches all controllers",
      min = "1",
      max = "65535")
  int balancer_port() default 6445;

  @AttributeDefinition(
      name = "Curator port",
      description = "Port of the curator listener of every node",
      min = "1",
      max = "65535")
  int curator_port() default 7835;

  @AttributeDefinition(
      name = "Pods",
      description = "Addresses of Pods in the cluster; each node gets 256 of them")
  String pod_range() default "10.244.0.0/16";

  @AttributeDefinition(name = "Services", description = "Addresses of Services in the cluster")
  String service_range() default "10.96.0.0/16";

  @AttributeDefinition(name = "Domain", description = "DNS domain of Services")
  String domain() default "cluster.local";

  @AttributeDefinition(
      name = "Links",
      description =
          "Addresses between a node at a loopback address and its sandbox: 131,072 addresses,"
              + " two for each node")
  String link_range() default "198.18.0.0/15";

  @AttributeDefinition(
      name = "Isolation",
      description =
          "Where a worker runs: in namespaces of its own, on the machine itself, or auto: on the"
              + " machine if the node manages its network, else in namespaces")
  String isolation() default "auto";

  @AttributeDefinition(
      name = "Audit policy",
      description =
          "Content of the API server's audit log: a policy of audit.k8s.io/v1 in JSON; empty:"
              + " the user, object and time of each request, without the routine requests of the"
              + " cluster's own parts")
  String audit_policy() default "";

  @AttributeDefinition(
      name = "Audit files",
      description = "How many files of the API server's audit log the node keeps",
      min = "2",
      max = "1000")
  int audit_files() default 4;

  @AttributeDefinition(
      name = "Size of an audit file",
      description = "Size in MiB at which the API server begins another file of its audit log",
      min = "16",
      max = "1024")
  int audit_file_mebibytes() default 16;

  @AttributeDefinition(
      name = "Patience with Pods",
      description =
          "Seconds after which health names a Pod that cannot start for a reason of this node",
      min = "10",
      max = "3600")
  int pod_patience_seconds() default 30;
}
