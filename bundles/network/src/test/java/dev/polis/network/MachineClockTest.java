package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.RunningProcess;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProgramPath;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs chronyd, which leaves this machine's clock alone, against servers of this machine. */
@Tag("full")
class MachineClockTest {

  private static final String SERVER = "127.0.95.1";
  private static final String OTHER = "127.0.95.2";
  private static final String FALSE = "127.0.95.3";
  private static final int PORT = 11_123;

  /** The four first questions take 6 s, and a busy machine its time. */
  private static final Duration SOON = Duration.ofSeconds(30);

  @TempDir private Path folder;

  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final MutableValue<NetworkStatus> network =
      new MutableValue<>(new NetworkStatus.Waiting("a cable"));
  private final List<Process> servers = new ArrayList<>();
  private Root root;
  private ProcessManager.OpenManager processes;
  private Subtree subtree;
  private MachineClock clock;

  @BeforeEach
  void open() throws Exception {
    Assumptions.assumeTrue(
        program().isPresent(), "a time server needs chronyd: install the package chrony");
    root = Root.at(folder.resolve("state"));
    root.create();
    root.ephemeral().create();
    processes = ProcessManager.open(root.ephemeral().processes().path(), logs);
    subtree = tree.organ("network");
    clock = clock();
  }

  @AfterEach
  void close() throws Exception {
    servers.forEach(Process::destroyForcibly);
    if (subtree != null) {
      subtree.close(StopReason.CODE_REPLACED);
      processes.stop(MachineClock.PROCESS);
      processes.close();
    }
    tree.close();
  }

  private static Optional<Path> program() {
    return ProgramPath.find("", List.of(MachineClock.PROCESS));
  }

  private MachineClock clock() {
    return clock(pace(""));
  }

  private MachineClock clock(MachineClock.Pace pace) {
    return new MachineClock(new MachineClock.Parts(subtree, processes, root, network), pace);
  }

  /** Asks each second; -x leaves the clock alone. */
  private static MachineClock.Pace pace(String program) {
    return new MachineClock.Pace(
        program,
        "iburst minpoll 0 maxpoll 0 port " + PORT,
        List.of("-x"),
        Duration.ofSeconds(5),
        Duration.ofSeconds(2));
  }

  private Process serve(String address) throws IOException {
    Process server =
        new ProcessBuilder(
                program().orElseThrow().toString(),
                "-d",
                "-U",
                "-x",
                "-u",
                "root",
                "local stratum 8",
                "allow 127.0.0.0/8",
                "bindaddress " + address,
                "port " + PORT,
                "cmdport 0",
                "bindcmdaddress /",
                "pidfile " + folder.resolve(address))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(address + ".log").toFile())
            .start();
    servers.add(server);
    return server;
  }

  private void connect() {
    network.set(new NetworkStatus.Up(InetAddress.ofLiteral(SERVER)));
  }

  private ClockStatus await(String what, Predicate<ClockStatus> wanted) throws Exception {
    try {
      return Await.value(clock.status(), wanted, SOON, what);
    } catch (AssertionError late) {
      throw new AssertionError(late.getMessage() + log(), late);
    }
  }

  private String log() {
    return "\n" + logs.newest(LogQuery.of("root").withChildren().backlogAll(), 100);
  }

  private ClockStatus.Synchronised awaitSynchronised() throws Exception {
    return (ClockStatus.Synchronised)
        await("a clock that follows a server", ClockStatus.Synchronised.class::isInstance);
  }

  private ClockStatus.Searching awaitLate() throws Exception {
    return (ClockStatus.Searching)
        await(
            "a late server",
            now -> now instanceof ClockStatus.Searching searching && searching.late());
  }

  private RunningProcess chronyd() {
    return RunningProcess.of(processes.find(MachineClock.PROCESS).orElseThrow().pid());
  }

  @Test
  @DisplayName(
      "chronyd starts with the address, and the clock follows a server; another instance adopts it, a killed one is started again, and a silent server is named")
  void life() throws Exception {
    Process server = serve(SERVER);
    clock.keep(true, new ClockServers(List.of(SERVER), true));
    assertEquals(
        new ClockStatus.Searching("asking " + SERVER, false), clock.status().peek().orElseThrow());
    assertTrue(processes.find(MachineClock.PROCESS).isEmpty(), "there is no address yet");
    connect();

    ClockStatus.Synchronised first = awaitSynchronised();

    assertEquals(SERVER, first.server());
    assertTrue(first.offset().abs().compareTo(Duration.ofMillis(100)) < 0, first.toString());
    RunningProcess child = chronyd();
    clock.pause();
    clock = clock();
    clock.keep(true, new ClockServers(List.of(SERVER), true));
    awaitSynchronised();
    assertEquals(child, chronyd(), "the next instance adopts it");

    ProcessHandle.of(child.pid()).orElseThrow().destroyForcibly();
    Await.until(
        SOON,
        "another chronyd",
        () -> processes.find(MachineClock.PROCESS).filter(p -> p.pid() != child.pid()).isPresent());
    Await.until(
        SOON,
        "its first answer",
        () -> Tracking.last(root.ephemeral().clock().path()).stream().anyMatch(Tracking::follows));

    server.destroyForcibly().waitFor();
    String reason = awaitLate().reason();
    assertTrue(reason.startsWith("the last answer of a time server came at "), reason);
    assertTrue(reason.contains("from " + SERVER), reason);
    serve(SERVER);
    awaitSynchronised();

    clock.keep(false, new ClockServers(List.of(), true));
    Await.until("the end of chronyd", () -> processes.find(MachineClock.PROCESS).isEmpty());
  }

  @Test
  @DisplayName("chronyd has an account of its own, and of root's rights only that to set the clock")
  void account() throws Exception {
    Needs.root("running a process as another account");
    serve(SERVER);
    clock = clock(pace(copied().toString()));
    clock.keep(true, new ClockServers(List.of(SERVER), true));
    connect();
    awaitSynchronised();

    String status = Files.readString(Path.of("/proc/" + chronyd().pid() + "/status"));

    // CAP_SYS_TIME is capability number 25.
    for (String line :
        List.of(
            "Uid:\t60907\t60907\t60907\t60907",
            "CapEff:\t0000000002000000",
            "CapPrm:\t0000000002000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2")) {
      assertTrue(status.contains(line), () -> status + log());
    }
    assertEquals(
        List.of("followed", "pid", "tracking.log"), root.ephemeral().clock().list(), "no socket");
  }

  /** Copies an unpacked chronyd with its libraries to where other accounts get. */
  private Path copied() throws Exception {
    Path program = program().orElseThrow();
    Path unpacked = program.getParent().resolveSibling("root");
    if (!Files.isDirectory(unpacked)) {
      return program;
    }
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    Path bin = Files.createDirectories(folder.resolve("programs/bin"));
    Files.copy(program, bin.resolve(MachineClock.PROCESS), StandardCopyOption.COPY_ATTRIBUTES);
    for (String part : List.of("usr/sbin/chronyd", "usr/lib/x86_64-linux-gnu", "lib")) {
      Path from = unpacked.resolve(part);
      if (Files.exists(from)) {
        Path to = folder.resolve("programs/root").resolve(part);
        Files.createDirectories(to.getParent());
        new Commands()
            .run(Duration.ofSeconds(30), List.of("cp", "-r", from.toString(), to.toString()));
      }
    }
    return bin;
  }

  @Test
  @DisplayName("a name that no name server knows, and a server that does not answer, are named")
  void noServer() throws Exception {
    connect();
    clock.keep(true, new ClockServers(List.of("time.polis.invalid", SERVER), true));
    assertEquals("no name server knows the time server time.polis.invalid", awaitLate().reason());

    clock.keep(true, new ClockServers(List.of(SERVER), true));

    assertEquals(
        "no time server answers as most of them do: " + SERVER,
        ((ClockStatus.Searching)
                await(
                    "a silent server",
                    now ->
                        now instanceof ClockStatus.Searching(String reason, boolean late)
                            && late
                            && !reason.contains("invalid")))
            .reason());
  }

  @Test
  @DisplayName(
      "on a machine of another owner nothing is started, and a machine without servers says so")
  void notKept() throws Exception {
    connect();
    clock.keep(false, new ClockServers(List.of(), true));
    assertEquals(new ClockStatus.NotKept("", ""), clock.status().peek().orElseThrow());
    clock.keep(false, new ClockServers(List.of(SERVER), true));
    assertTrue(notKeptReason().contains(SERVER + "), but this node does not keep the clock"));
    clock.keep(true, new ClockServers(List.of(), true));
    assertTrue(notKeptReason().contains("no time server is named"), notKeptReason());
    assertTrue(processes.records().isEmpty(), processes.records().toString());
  }

  private String notKeptReason() {
    return ((ClockStatus.NotKept) clock.status().peek().orElseThrow()).reason();
  }

  @Test
  @Tag("attack")
  @DisplayName("one false server of three is not followed; a single one is, whatever its time")
  void falseServer() throws Exception {
    serve(SERVER);
    serve(OTHER);
    try (DatagramSocket liar = liar(() -> Duration.ofHours(1))) {
      clock.keep(true, new ClockServers(List.of(FALSE, SERVER, OTHER), true));
      connect();
      // The first answer of all is followed until the others have answered.
      await(
          "a clock that follows the majority",
          now ->
              now instanceof ClockStatus.Synchronised(String server, _, Instant at)
                  && !server.equals(FALSE)
                  && at.isBefore(Instant.now().plus(Duration.ofMinutes(1))));
      assertFalse(liar.isClosed());

      clock.keep(true, new ClockServers(List.of(FALSE), true));
      await(
          "a clock that follows the false server",
          now ->
              now instanceof ClockStatus.Synchronised(String server, _, Instant at)
                  && server.equals(FALSE)
                  && at.isAfter(Instant.now().plus(Duration.ofMinutes(59))));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "servers that the link offers may set the clock once, servers that an operator names may at each start of chronyd")
  void offeredServers() throws Exception {
    serve(SERVER);
    serve(OTHER);
    connect();
    requireFollowed(new ClockServers(List.of(SERVER), false), true);
    requireFollowed(new ClockServers(List.of(OTHER), false), false);
    requireFollowed(new ClockServers(List.of(SERVER), true), true);
  }

  /** Requires that the clock follows the only server of a list. */
  private void requireFollowed(ClockServers wanted, boolean sets) throws Exception {
    clock.keep(true, wanted);
    await(
        "a clock that follows " + wanted,
        now ->
            now instanceof ClockStatus.Synchronised(String server, _, _)
                && server.equals(wanted.words()));
    String pid = Files.readString(root.ephemeral().clock().path().resolve("pid")).strip();
    String arguments = Files.readString(Path.of("/proc", pid, "cmdline"));
    assertTrue(arguments.contains(wanted.words()), arguments);
    assertEquals(sets, arguments.contains("makestep"), arguments);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a server that jumps after the start does not set the clock, and the difference is shown")
  void jump() throws Exception {
    AtomicReference<Duration> ahead = new AtomicReference<>(Duration.ZERO);
    try (DatagramSocket liar = liar(ahead::get)) {
      clock.keep(true, new ClockServers(List.of(FALSE), true));
      connect();
      Await.until(
          SOON,
          "the comparisons that may set the clock",
          () -> Tracking.last(root.ephemeral().clock().path()).size() > 5);
      ahead.set(Duration.ofHours(1));

      ClockStatus.Synchronised far =
          (ClockStatus.Synchronised)
              await(
                  "the difference",
                  now ->
                      now instanceof ClockStatus.Synchronised(_, Duration offset, _)
                          && offset.compareTo(Duration.ofMinutes(-59)) < 0);

      assertTrue(far.at().isBefore(Instant.now().plus(Duration.ofMinutes(1))), far.toString());
      assertFalse(liar.isClosed());
    }
  }

  /** Answers as a server of NTP whose clock is ahead. */
  private static DatagramSocket liar(Supplier<Duration> ahead) throws SocketException {
    DatagramSocket socket = new DatagramSocket(new InetSocketAddress(FALSE, PORT));
    Thread.ofVirtual().start(() -> lie(socket, ahead));
    return socket;
  }

  private static void lie(DatagramSocket socket, Supplier<Duration> ahead) {
    DatagramPacket packet = new DatagramPacket(new byte[48], 48);
    try {
      while (true) {
        socket.receive(packet);
        long now = timestamp(Instant.now().plus(ahead.get()));
        ByteBuffer question = ByteBuffer.wrap(packet.getData().clone());
        // Version 4, mode server, stratum 2; the reference, and the three times of RFC 5905.
        ByteBuffer answer =
            ByteBuffer.allocate(48).put((byte) 0x24).put((byte) 2).put((byte) 0).put((byte) -20);
        answer.putInt(4, 0).putInt(8, 0).putInt(12, 0x7f000001);
        answer.putLong(16, now).putLong(24, question.getLong(40));
        answer.putLong(32, now).putLong(40, now);
        socket.send(new DatagramPacket(answer.array(), 48, packet.getSocketAddress()));
      }
    } catch (IOException closed) {
      // The test has ended.
      return;
    }
  }

  /** Returns the seconds since 1900 and their fraction, in 32 bits each. */
  private static long timestamp(Instant time) {
    long seconds = time.getEpochSecond() + 2_208_988_800L;
    return seconds << 32 | ((long) time.getNano() << 32) / 1_000_000_000L;
  }
}
