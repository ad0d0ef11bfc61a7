package dev.polis.cluster.it;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs transactions like those of pgbench one after the other, each client on a connection of its
 * own that it opens once: two updates, a query and an insert, then a commit.
 */
final class SqlLoad implements AutoCloseable {

  /** So many that two transactions seldom use the same row. */
  private static final int ACCOUNTS = 1000;

  private static final int LARGEST_CHANGE = 5000;

  private final List<Connection> connections = new ArrayList<>();
  private final List<SteadyCaller> clients = new ArrayList<>();
  private final AtomicLong committed = new AtomicLong();

  private SqlLoad() {}

  /** Makes the tables, then starts clients. */
  static SqlLoad start(String url, String password, int clients) throws SQLException {
    SqlLoad load = new SqlLoad();
    try (Connection connection = connect(url, password);
        Statement statement = connection.createStatement()) {
      statement.execute("create table account (id int primary key, balance bigint not null)");
      statement.execute("create table teller (id int primary key, balance bigint not null)");
      statement.execute("create table history (account int, teller int, change bigint)");
      statement.execute(
          "insert into account select id, 0 from generate_series(1, %d) id".formatted(ACCOUNTS));
      statement.execute(
          "insert into teller select id, 0 from generate_series(1, %d) id".formatted(clients));
    }
    for (int teller = 1; teller <= clients; teller++) {
      Connection connection = connect(url, password);
      connection.setAutoCommit(false);
      load.connections.add(connection);
      int own = teller;
      load.clients.add(SteadyCaller.of(() -> load.transaction(connection, own)));
    }
    return load;
  }

  static Connection connect(String url, String password) throws SQLException {
    return DriverManager.getConnection(url, "postgres", password);
  }

  private void transaction(Connection connection, int teller) throws SQLException {
    int account = ThreadLocalRandom.current().nextInt(1, ACCOUNTS + 1);
    int change = ThreadLocalRandom.current().nextInt(-LARGEST_CHANGE, LARGEST_CHANGE + 1);
    update(connection, "update account set balance = balance + ? where id = ?", change, account);
    try (PreparedStatement query =
        connection.prepareStatement("select balance from account where id = ?")) {
      query.setInt(1, account);
      try (ResultSet balance = query.executeQuery()) {
        if (!balance.next()) {
          throw new SQLException("there is no account " + account);
        }
      }
    }
    update(connection, "update teller set balance = balance + ? where id = ?", change, teller);
    update(connection, "insert into history (change, account) values (?, ?)", change, account);
    connection.commit();
    committed.incrementAndGet();
  }

  private static void update(Connection connection, String sql, int first, int second)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setInt(1, first);
      statement.setInt(2, second);
      statement.executeUpdate();
    }
  }

  /** Waits until each client has committed again; fails if a transaction has failed. */
  void awaitMore(String when) throws Exception {
    for (SteadyCaller client : clients) {
      client.awaitMore(when);
    }
  }

  long committed() {
    return committed.get();
  }

  /** Ends the clients; a transaction under way is rolled back. */
  @Override
  public void close() throws SQLException {
    clients.forEach(SteadyCaller::close);
    for (Connection connection : connections) {
      // The client's end has closed the socket, on which close() would send a message.
      connection.abort(Runnable::run);
    }
  }
}
