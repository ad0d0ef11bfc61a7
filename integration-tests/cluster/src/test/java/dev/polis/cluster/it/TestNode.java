package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import dev.polis.base.posix.LoopDevices;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.ctl.Ctl;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.FileDigest;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.NodeProcesses;
import dev.polis.node.Main;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a node of the distribution as it ships, in a state directory of its own, with the operator's
 * command line. Closing it ends all processes that it started.
 */
final class TestNode implements AutoCloseable {

  /** A node is HOME within a few seconds; shared machines are several times slower. */
  static final Duration PATIENCE = Duration.ofSeconds(120);

  /** The interval of checks while a node may become HOME at any moment. */
  private static final Duration LOOK = Duration.ofMillis(20);

  private final Distribution distribution;
  private final NodeProcesses processes;
  private final Path state;
  private final String address;
  private Optional<Process> process = Optional.empty();
  private List<String> opening = List.of();
  private List<String> place = List.of();
  private List<String> always = List.of();
  private int starts;

  private TestNode(Distribution distribution, Path state, String address) {
    this.distribution = distribution;
    this.state = state;
    this.processes = new NodeProcesses(state);
    this.address = address;
  }

  /** Makes a node with parameters that was never started. */
  static TestNode prepared(Path state, String address, String... more) throws Exception {
    TestNode node = bare(state, address);
    List<String> make = new ArrayList<>(List.of("params", "make", "--owner"));
    make.add(state.resolve("owner").toString());
    make.add("--to");
    make.add(state.resolve("esp/parameters.json").toString());
    make.addAll(List.of(more));
    node.ctl(make.toArray(String[]::new)).requireSuccess("no parameters");
    return node;
  }

  /** Makes the same with a data volume of this protection, which its first start bootstraps. */
  static TestNode bootstrapping(Path state, String address, Mode mode) throws Exception {
    TestNode node = prepared(state, address);
    node.opening = List.of(mode.options());
    return node;
  }

  /** Makes a node without parameters. */
  static TestNode bare(Path state, String address) {
    return new TestNode(Distribution.built(), state, address);
  }

  /**
   * Makes a stopped node that was bootstrapped and owned before. Its start takes a fifth less work
   * than a bootstrap.
   */
  static TestNode member(Path state, String address) throws Exception {
    return member(state, address, Optional.empty());
  }

  /** Makes the same with a data volume of this protection. */
  static TestNode member(Path state, String address, Mode mode) throws Exception {
    return member(state, address, Optional.of(mode));
  }

  private static TestNode member(Path state, String address, Optional<Mode> mode) throws Exception {
    PreparedStates.copy(mode, state);
    TestNode node = bare(state, address);
    if (Mode.of(state).encrypted()) {
      node.opening = List.of("--recovery-key", state.resolve("owner/recovery-key.pem").toString());
    }
    return node;
  }

  /** Returns the same node, started from another distribution. */
  TestNode with(Path otherDistribution) {
    return new TestNode(new Distribution(otherDistribution), state, address);
  }

  /** Lets each later start of the node run behind this command, such as one of another network. */
  TestNode behind(List<String> command) {
    place = List.copyOf(command);
    return this;
  }

  /** Gives each later start of the node these options. */
  TestNode always(String... options) {
    always = List.of(options);
    return this;
  }

  Path state() {
    return state;
  }

  String address() {
    return address;
  }

  /** Returns the command line of a start; an option of the crash agent goes to the JVM. */
  private List<String> run(String... more) throws Exception {
    List<String> command =
        distribution.launcher("run", "--state", state.toString(), "--address", address);
    // As in a start by polis up, the JVM's report of its own end is where the next start reads it.
    command.add(1, "-XX:ErrorFile=" + state.resolve("ephemeral/launcher/jvm-error.txt"));
    if (!List.of(more).contains("--etcd")) {
      command.add("--etcd");
      command.add(EtcdBinary.folder().toString());
    }
    for (String option : more) {
      if (option.startsWith(CrashAgent.OPTION)) {
        CrashAgent.into(command, option);
      } else if (option.startsWith("-Xmx")) {
        command.replaceAll(part -> part.startsWith("-Xmx") ? option : part);
      } else {
        command.add(option);
      }
    }
    return command;
  }

  /** Starts the node and waits until it is home. */
  void up(String... more) throws Exception {
    start(more);
    awaitHome();
  }

  void start(String... more) throws Exception {
    startWith(new byte[0], more);
  }

  /** Starts the node with something on its standard input. */
  void startWith(byte[] input, String... more) throws Exception {
    Files.createDirectories(state.resolve("log"));
    letOthersReach();
    Path output = log();
    // A shell's background job, or nohup, would pass on that SIGINT or SIGHUP is ignored.
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT,HUP"));
    command.addAll(run(Stream.concat(Stream.of(more), always.stream()).toArray(String[]::new)));
    command.addAll(opening);
    opening = List.of();
    Process started =
        new ProcessBuilder(placed(command))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    process = Optional.of(started);
    try (OutputStream stdin = started.getOutputStream()) {
      stdin.write(input);
    }
  }

  /**
   * Makes the path to the state directory passable for all users, as on a machine, so that children
   * can run under accounts of their own.
   */
  private void letOthersReach() throws IOException {
    for (Path above = state.getParent(); above != null; above = above.getParent()) {
      Set<PosixFilePermission> permissions = EnumSet.copyOf(Files.getPosixFilePermissions(above));
      if (!permissions.add(PosixFilePermission.OTHERS_EXECUTE)) {
        return;
      }
      Files.setPosixFilePermissions(above, permissions);
    }
  }

  /** Returns the users of a process: real, effective, saved, and of the file system. */
  static List<String> users(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc", Long.toString(pid), "status")).stream()
        .filter(line -> line.startsWith("Uid:"))
        .flatMap(line -> Stream.of(line.split("\\s+")).skip(1))
        .toList();
  }

  private Path log() {
    return state.resolve("log/start-" + ++starts + ".txt");
  }

  void awaitHome() throws Exception {
    Await.until(
        PATIENCE,
        "the node in " + state + " to be home",
        this::isHome,
        () -> "it said:%n%s%n%s".formatted(said(), stacks()));
  }

  /** Returns the stacks of the node's threads, or the reason why its JVM does not print them. */
  private String stacks() throws Exception {
    String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    return finish(List.of(jcmd, String.valueOf(jvmPid()), "Thread.print"), Map.of()).all();
  }

  /** Waits until the node is HOME or has ended, and returns whether it is HOME. */
  boolean awaitHomeOrEnd() throws Exception {
    Await.until(
        PATIENCE,
        "the node in " + state + " to be home or to end",
        () -> !process.orElseThrow().isAlive() || isHome(),
        () -> "it said:\n" + said());
    return process.orElseThrow().isAlive();
  }

  /** Returns the last line of the present start's output. */
  String lastWords() {
    String text = said().strip();
    return text.substring(text.lastIndexOf('\n') + 1);
  }

  /** Waits for a while, or until the node is HOME, and returns whether it is. */
  boolean isHomeWithin(Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!isHome() && System.nanoTime() < deadline) {
      long rest = Math.min(LOOK.toNanos(), deadline - System.nanoTime());
      if (process.orElseThrow().waitFor(rest, TimeUnit.NANOSECONDS)) {
        throw new AssertionError("the node has ended: " + said());
      }
    }
    return isHome();
  }

  private boolean isHome() {
    if (!process.orElseThrow().isAlive()) {
      throw new AssertionError(
          "the node has ended with %d: %s".formatted(process.orElseThrow().exitValue(), said()));
    }
    // The file alone is no proof: a killed start may have left it behind.
    return said().contains("HOME after") && Files.exists(state.resolve("ephemeral/launcher/home"));
  }

  /** Returns the output of the present start of the node. */
  String said() {
    try {
      Path output = state.resolve("log/start-" + starts + ".txt");
      return Files.exists(output) ? Files.readString(output) : "nothing";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts the node in a state where it must be refused, and returns its end. */
  Finished refused(String... more) throws Exception {
    return finish(placed(run(more)), Map.of());
  }

  private List<String> placed(List<String> command) {
    return Stream.concat(place.stream(), command.stream()).toList();
  }

  /** Does the same as another user, who cannot write this user's files. */
  Finished refusedAs(int user, String... more) throws Exception {
    List<String> command =
        new ArrayList<>(List.of("setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"));
    command.addAll(run(more));
    return finish(command, Map.of());
  }

  boolean hasEnded() {
    return !process.orElseThrow().isAlive();
  }

  /** Waits until the node has ended by itself, and returns its exit code. */
  int awaitEnd() throws InterruptedException {
    if (!process.orElseThrow().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      throw new AssertionError("the node did not end within " + PATIENCE + ": " + said());
    }
    return process.orElseThrow().exitValue();
  }

  /** Runs the launcher with another command. */
  Finished launcher(String... arguments) throws Exception {
    return finish(distribution.launcher(arguments), Map.of());
  }

  /** Runs the operator's command line against this node, in this process. */
  Finished ctl(String... arguments) {
    return ctlOf(state, arguments);
  }

  /** Runs the operator's command line with a state directory, in this process. */
  static Finished ctlOf(Path state, String... arguments) {
    List<String> line = new ArrayList<>(List.of("--config=" + state.resolve("no-contexts")));
    if (Files.isDirectory(state)) {
      line.add("--state=" + state);
    }
    line.addAll(List.of(arguments));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Ctl.run(
            line.toArray(String[]::new), new PrintWriter(out, true), new PrintWriter(err, true));
    return new Finished(code, out.toString(), err.toString());
  }

  /** Runs the same as an operator does on the node's machine, with the program. */
  Finished ctlProgram(String... arguments) throws Exception {
    return finish(placed(Distribution.built().ctl(state, arguments)), Map.of());
  }

  /** Runs the operator's command line as on the node's machine, in this process if it is there. */
  Finished ctlThere(String... arguments) throws Exception {
    return place.isEmpty() ? ctl(arguments) : ctlProgram(arguments);
  }

  /**
   * Waits until polisctl health on the node's machine fails with these words. A busy node may need
   * more than the two seconds for which an operator without credentials asks it.
   */
  void awaitHealthSays(String... words) throws Exception {
    AtomicReference<Finished> health = new AtomicReference<>();
    Await.until(
        PATIENCE,
        "polisctl health of " + address + " to say " + List.of(words),
        () -> {
          health.set(ctlThere("health"));
          return health.get().code() == 5
              && Stream.of(words).allMatch(health.get().out()::contains);
        },
        () -> health.get().all());
  }

  /** Runs the program while it ends at a point of {@link CrashAgent}. */
  Finished ctlKilled(String point, String... arguments) throws Exception {
    List<String> command = Distribution.built().ctl(state, arguments);
    CrashAgent.into(command, point);
    return finish(command, Map.of());
  }

  /** Runs the operator's command line and returns its JSON. */
  JsonElement json(String... arguments) throws Exception {
    String[] more = Arrays.copyOf(arguments, arguments.length + 2);
    more[arguments.length] = "-o";
    more[arguments.length + 1] = "json";
    return JsonParser.parseString(ctl(more).requireSuccess(String.join(" ", arguments)).out());
  }

  static Finished finish(List<String> command, Map<String, String> environment) throws Exception {
    return Finished.of(command, environment, PATIENCE);
  }

  void takeOwnership() {
    Finished finished = ctl("takeownership");
    if (finished.code() != 0) {
      throw new AssertionError("takeownership: " + finished.all() + "\nnode: " + said());
    }
  }

  /** Returns the node's id, as its cluster knows it. */
  String id() throws Exception {
    return json("node", "list").getAsJsonArray().get(0).getAsJsonObject().get("id").getAsString();
  }

  /** Ends the node's process without a warning. */
  void killJvm() throws InterruptedException {
    process.orElseThrow().destroyForcibly().waitFor();
  }

  /** Sends the node's process a signal, such as STOP or CONT. */
  void signalJvm(String name) throws Exception {
    finish(List.of("kill", "-" + name, Long.toString(jvmPid())), Map.of()).requireSuccess("kill");
  }

  /** Ends each etcd of this node with signal 9. */
  void killEtcd() throws Exception {
    for (ProcessHandle etcd : children("etcd")) {
      etcd.destroyForcibly();
      etcd.onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
  }

  /** Sends the node's process and its etcd a signal, as a pause of their machine does. */
  void signalMachine(String name) throws Exception {
    signalJvm(name);
    finish(List.of("kill", "-" + name, Long.toString(etcd().pid())), Map.of())
        .requireSuccess("kill");
  }

  /** Ends all processes of these nodes at once and unmounts their volumes, as a loss of power. */
  static void losePower(Collection<TestNode> nodes) throws Exception {
    List<ProcessHandle> all =
        nodes.stream().flatMap(node -> node.processes.all().stream()).toList();
    all.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle each : all) {
      each.onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
    for (TestNode node : nodes) {
      for (String mount : node.mounts()) {
        finish(List.of("umount", "--lazy", mount.split(" ")[1]), Map.of()).requireSuccess(mount);
      }
      assertEquals(List.of(), node.leftovers());
    }
  }

  /** Sends the node's process SIGTERM and waits for its end. */
  int terminate() throws InterruptedException {
    process.orElseThrow().destroy();
    return process.orElseThrow().waitFor();
  }

  /** Sends SIGINT, as Ctrl-C does, and waits for the end. */
  int interrupt() throws Exception {
    signalJvm("INT");
    return awaitEnd();
  }

  long jvmPid() {
    return process.orElseThrow().pid();
  }

  /** Returns the etcd of this node, from any start. */
  ProcessHandle etcd() {
    return children("etcd").stream()
        .findFirst()
        .orElseThrow(() -> new AssertionError("no etcd runs for " + state));
  }

  /** Returns all processes of this program in this node's state directory. */
  List<ProcessHandle> children(String program) {
    return processes.of(program);
  }

  /** Returns the mounts below this node's state directory, as the kernel lists them. */
  List<String> mounts() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/mounts")).stream()
        .filter(line -> line.contains(state.toString()))
        .toList();
  }

  /** Returns all processes and mounts of this node; empty when it is down. */
  List<String> leftovers() throws IOException {
    List<String> left = new ArrayList<>();
    processes.all().stream()
        .map(handle -> "process " + handle.pid() + " " + NodeProcesses.commandLine(handle))
        .forEach(left::add);
    mounts().forEach(line -> left.add("mount " + line));
    LoopDevices.list().stream()
        .filter(loop -> loop.file().startsWith(state))
        .map(loop -> "loop device " + loop.device())
        .forEach(left::add);
    return left;
  }

  /** Stops the node and its children, with the program of the distribution. */
  Finished down() throws Exception {
    return launcher(stopCommand());
  }

  /** Does the same at a terminal, with this answer to a question. */
  Finished downAtTerminal(String answer) throws Exception {
    String command =
        distribution.launcher(stopCommand()).stream()
            .map(word -> "'" + word + "'")
            .collect(Collectors.joining(" "));
    return finish(
        List.of(
            "bash",
            "-c",
            "printf '%s\\n' \"$1\" | script -qec \"$2\" /dev/null",
            "terminal",
            answer,
            command),
        Map.of());
  }

  private String[] stopCommand(String... more) {
    return Stream.concat(Stream.of("stop", "--state", state.toString()), Stream.of(more))
        .toArray(String[]::new);
  }

  /** Stops the node and its children in this process, and requires success. */
  void stop() {
    Finished finished = downHere();
    if (finished.code() != 0) {
      throw new AssertionError(
          "the node in %s was not stopped: %s".formatted(state, finished.all()));
    }
  }

  private Finished downHere(String... more) {
    StringWriter err = new StringWriter();
    int code = Main.run(stopCommand(more), new PrintWriter(err, true));
    return new Finished(code, "", err.toString());
  }

  /** Returns a digest of every file below a folder, to notice changes. */
  static Map<String, String> digests(Path folder) throws IOException {
    Map<String, String> digests = new TreeMap<>();
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            if (attributes.isRegularFile()) {
              digests.put(folder.relativize(file).toString(), FileDigest.of(file));
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return digests;
  }

  /** Ends all processes and mounts, with which the test's folder could not be deleted. */
  @Override
  public void close() {
    try {
      Optional<Finished> finished =
          leftovers().isEmpty() ? Optional.empty() : Optional.of(downHere("--anyway"));
      process.ifPresent(Process::destroyForcibly);
      // A tmpfs belongs to a test, since no volume is one.
      List<String> left = mounts().stream().filter(line -> !line.startsWith("tmpfs ")).toList();
      if (!left.isEmpty()) {
        throw new AssertionError("still mounted: " + left + "; its stop: " + finished);
      }
    } catch (Exception e) {
      throw new AssertionError("the node in " + state + " cannot be cleared away", e);
    }
  }
}
