package org.example.postgresql;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares what an operator may set. */
@ObjectClassDefinition(
    id = PostgresSettings.PID,
    name = "PostgreSQL",
    description = "Runs PostgreSQL on nodes with the role PostgreSQL")
@interface PostgresConfig {

  @AttributeDefinition(
      name = "Port",
      description = "TCP port for clients, on the node's address",
      min = "1",
      max = "65535")
  int port() default 5432;

  @AttributeDefinition(
      name = "Programs",
      description =
          "Folder with postgres and initdb; blank: the newest below /usr/lib/postgresql, or PATH")
  String programs() default "";

  @AttributeDefinition(
      name = "Account",
      description =
          "Account of the machine that the server runs as where the node is root; blank: postgres,"
              + " or nobody where there is no postgres")
  String account() default "";
}
