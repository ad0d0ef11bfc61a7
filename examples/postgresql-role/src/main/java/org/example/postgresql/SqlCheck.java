package org.example.postgresql;

import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.Properties;
import org.postgresql.Driver;

/** Asks the server a question in SQL, as a client would. Usable from any thread. */
final class SqlCheck {

  /** Seconds. A server that works answers within milliseconds. */
  private static final String PATIENCE = "1";

  private final String url;
  private final Properties properties = new Properties();

  SqlCheck(InetSocketAddress server, String password) {
    String host = server.getAddress().getHostAddress();
    this.url =
        "jdbc:postgresql://%s:%d/postgres"
            .formatted(host.contains(":") ? "[" + host + "]" : host, server.getPort());
    properties.setProperty("user", PostgresData.USER);
    properties.setProperty("password", password);
    properties.setProperty("ApplicationName", "polis-health");
    properties.setProperty("connectTimeout", PATIENCE);
    properties.setProperty("socketTimeout", PATIENCE);
  }

  /** Returns why the server does not answer; empty if it does. */
  Optional<String> problem() {
    // Not by way of the JDK's DriverManager, which looks for drivers with the caller's class
    // loader.
    try (Connection connection = new Driver().connect(url, properties);
        Statement statement = connection.createStatement();
        ResultSet one = statement.executeQuery("select 1")) {
      return one.next() ? Optional.empty() : Optional.of("\"select 1\" returned nothing");
    } catch (SQLException e) {
      return Optional.of(e.getMessage());
    }
  }

  /** Takes the driver out of the JDK's list, into which it puts itself when it is loaded. */
  static void forgetDriver() throws SQLException {
    if (Driver.isRegistered()) {
      Driver.deregister();
    }
  }
}
