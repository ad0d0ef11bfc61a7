package org.example.postgresql;

import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.process.StopSignal;
import dev.polis.supervision.Context;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Does the work of the role: prepares the data, runs the server and watches its health. */
final class PostgresRole {

  static final String NAME = "PostgreSQL";

  /** Name of the child process. */
  static final String PROCESS = "postgresql";

  private static final String SILENT = "no-answer";

  /** A server that ends in order writes what it has in memory first. */
  private static final Duration GRACE = Duration.ofSeconds(60);

  private static final Duration CHECK_INTERVAL = Duration.ofSeconds(2);
  private static final Duration START_POLL = Duration.ofMillis(100);

  private final PostgresSettings settings;
  private final Storage storage;
  private final Value<NetworkStatus> network;
  private final ProcessManager processes;
  private final HealthRegistry health;

  PostgresRole(
      PostgresSettings settings,
      Storage storage,
      Value<NetworkStatus> network,
      ProcessManager processes,
      HealthRegistry health) {
    this.settings = settings;
    this.storage = storage;
    this.network = network;
    this.processes = processes;
    this.health = health;
  }

  void run(Context context) throws Exception {
    try (HealthScope scope = health.role(NAME, "")) {
      InetSocketAddress address = new InetSocketAddress(awaitAddress(), settings.port());
      PostgresAccount account = PostgresAccount.choose(settings.account());
      PostgresPrograms programs = PostgresPrograms.find(settings.programs());
      PostgresData data = new PostgresData(storage.folder(PostgresData.FOLDER));
      data.prepare(programs, account, context.log());
      SqlCheck check = new SqlCheck(address, data.password());
      context.run(
          "server",
          new ProcessTask(
              processes,
              spec(programs, account, data, address),
              () -> check.problem().isEmpty(),
              LineConverter.raw()));
      awaitAnswer(check);
      context.log().info("PostgreSQL answers at %s", address);
      context.healthy();
      watch(check, scope);
    }
  }

  private InetAddress awaitAddress() throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = network.watch()) {
      return watcher.get(status -> status.address().isPresent()).address().orElseThrow();
    }
  }

  /** Describes the server. A version of this plugin that describes it otherwise restarts it. */
  private static ProcessSpec spec(
      PostgresPrograms programs,
      PostgresAccount account,
      PostgresData data,
      InetSocketAddress address) {
    return ProcessSpec.of(
            PROCESS,
            List.of(
                programs.postgres().toString(),
                "-D",
                data.data().toString(),
                "-c",
                "listen_addresses=" + address.getAddress().getHostAddress(),
                "-c",
                "port=" + address.getPort(),
                "-c",
                "unix_socket_directories=",
                "-c",
                "hba_file=" + data.access()))
        .withEnvironment(Map.of("LC_ALL", "C.UTF-8"))
        .withDirectory(data.data())
        .withFingerprint(PostgresData.ACCESS)
        .withAccount(account.name())
        // By SIGTERM it would wait for its clients to leave.
        .withStopSignal(StopSignal.INT)
        .withGrace(GRACE);
  }

  private static void awaitAnswer(SqlCheck check) throws InterruptedException {
    while (check.problem().isPresent()) {
      Thread.sleep(START_POLL);
    }
  }

  /** Tells the node how the server is, until cancelled. */
  private static void watch(SqlCheck check, HealthScope scope) throws InterruptedException {
    while (true) {
      Optional<String> problem = check.problem();
      if (problem.isPresent()) {
        scope.set(
            HealthCondition.degraded(
                SILENT,
                "PostgreSQL does not answer: " + problem.get(),
                "see its log: polisctl node logs --dn root.roles"));
      } else {
        scope.clear(SILENT);
      }
      Thread.sleep(CHECK_INTERVAL);
    }
  }
}
