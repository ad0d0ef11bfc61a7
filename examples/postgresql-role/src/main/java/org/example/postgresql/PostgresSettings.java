package org.example.postgresql;

import dev.polis.base.config.SettingCheck;

/**
 * Holds the checked configuration.
 *
 * @param port on the node's address
 * @param programs folder with postgres and initdb; blank to search for them
 * @param account that the server runs as where the node is root; blank to choose one
 */
record PostgresSettings(int port, String programs, String account) {

  static final String PID = "org.example.postgresql";

  private static final SettingCheck CHECK = SettingCheck.of(PID);

  PostgresSettings {
    CHECK.port("port", port);
    if (account.equals("root")) {
      throw CHECK.refuse("account", account, "as which PostgreSQL refuses to run");
    }
  }

  static PostgresSettings of(PostgresConfig config) {
    return new PostgresSettings(config.port(), config.programs(), config.account());
  }
}
