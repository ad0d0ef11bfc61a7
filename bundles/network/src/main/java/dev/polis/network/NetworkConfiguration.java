package dev.polis.network;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** What a person may say about the network. */
@ObjectClassDefinition(id = "dev.polis.network", name = "Network")
@interface NetworkConfiguration {

  @AttributeDefinition(
      description =
          "IP address that others reach this node at; if empty the first of this machine that is not loopback, else 127.0.0.1")
  String address() default "";
}
