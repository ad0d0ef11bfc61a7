package org.example.kubernetes;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares what an operator may set. */
@ObjectClassDefinition(
    id = KubernetesComponent.PID,
    name = "Kubernetes",
    description = "Answers Kubernetes clients on nodes with the role KubernetesController")
@interface KubernetesConfig {

  @AttributeDefinition(
      name = "Port",
      description = "TCP port for Kubernetes clients, on the node's address; 0: any free one",
      min = "0",
      max = "65535")
  int port() default 6444;

  @AttributeDefinition(name = "Message", description = "What clients are told")
  String message() default "ask the operator of this cluster for its Kubernetes";
}
