package dev.polis.ctl.session;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.files.DiskTrouble;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.process.JvmReport;
import dev.polis.process.KilledProcess;
import dev.polis.process.ProcessException;
import dev.polis.process.ProcessRecords;
import dev.polis.process.ProgramFiles;
import dev.polis.wire.common.ClusterDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Names a cluster to talk to, and the credentials to use.
 *
 * @param name what people call it
 * @param folder where the operator's key and certificates are
 * @param endpoint address of a node
 * @param nodeOrNull the node that has this address; null if only the operator says so
 * @param nodeCa the cluster's certificate as a node on this machine keeps it; trusted at first
 *     contact, since a user who can read it is on the node
 * @param stateOrNull the state directory of the node; null if it is not on this machine
 * @param listeners where the node listens, if it runs on this machine
 */
public record CtlTarget(
    String name,
    Path folder,
    String endpoint,
    NodeId nodeOrNull,
    Path nodeCa,
    Path stateOrNull,
    CtlListeners listeners) {

  /** A node listens here by default. */
  private static final String LOOPBACK = "127.0.0.1";

  /** The meaning of the signals that end a node, as clauses. */
  private static final Map<String, String> SIGNALS =
      Map.of(
          "SIGHUP",
          ", as its terminal or session closed; with 'up --detach', or as a unit of a service manager, it has none",
          "SIGTERM",
          ", which a person, a service manager or another program sent, and not 'polis down'",
          "SIGINT",
          " (Ctrl-C)");

  /** 64 bits of a key tell a folder's former keys apart. */
  private static final int SHORT_KEY_BYTES = 8;

  static CtlTarget ofState(Path state) {
    if (!Files.isDirectory(state)) {
      throw new CtlException(
          ExitCode.NOT_FOUND, new LostState(state.toAbsolutePath().normalize()).text());
    }
    if (ClusterBase.is(state)) {
      return ofCluster(new ClusterBase(state));
    }
    CtlTarget node = ofNode(state);
    return ClusterBase.holding(state).map(node::ownedIn).orElse(node);
  }

  /**
   * Chooses the leader of a cluster on this machine, or a node that runs while there is none. A
   * node that a signal has stopped answers nothing.
   */
  private static CtlTarget ofCluster(ClusterBase base) {
    List<CtlTarget> nodes = base.nodes().stream().map(CtlTarget::ofNode).toList();
    if (nodes.isEmpty()) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "%1$s has no node of its cluster yet; start them with './polis up --nodes 3 --state %1$s'"
              .formatted(CtlName.quoted(base.folder())));
    }
    List<CtlTarget> running = nodes.stream().filter(CtlTarget::isRunning).toList();
    if (running.isEmpty()) {
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "no node of the cluster in %1$s runs; './polis up --nodes %2$d --state %1$s' starts all of them; give --state %3$s to ask about one"
              .formatted(
                  CtlName.quoted(base.folder()), nodes.size(), CtlName.quoted(base.node(1))));
    }
    List<CtlTarget> answering = running.stream().filter(node -> !node.isStopped()).toList();
    List<CtlTarget> candidates = answering.isEmpty() ? running : answering;
    return leader(candidates).orElseGet(candidates::getFirst).ownedIn(base);
  }

  /** Returns the same node, with the owner's files from whichever node of its cluster has them. */
  private CtlTarget ownedIn(ClusterBase base) {
    List<Path> folders = base.nodes().stream().map(node -> Root.at(node).owner().path()).toList();
    Path owner =
        Stream.concat(Stream.of(folder), folders.stream())
            .filter(each -> Files.exists(ownerKey(each)))
            .findFirst()
            .orElse(folders.getFirst());
    return new CtlTarget(name, owner, endpoint, nodeOrNull, nodeCa, stateOrNull, listeners);
  }

  private static Optional<CtlTarget> leader(List<CtlTarget> running) {
    if (running.size() == 1) {
      return Optional.of(running.getFirst());
    }
    try {
      for (CtlTarget each : running) {
        Optional<String> leader =
            CuratorLeader.knownAt(Session.resolved(each.endpoint(), Session.CURATOR_PORT));
        if (leader.isPresent()) {
          return running.stream().filter(node -> node.endpoint().equals(leader.get())).findFirst();
        }
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
    return Optional.empty();
  }

  private static CtlTarget ofNode(Path state) {
    Root layout = Root.at(state);
    CtlListeners listeners = CtlListeners.of(layout);
    Place place =
        listeners
            .named("curator")
            .map(listener -> new Place(host(listener), ownId(layout).orElse(null)))
            .orElseGet(() -> lastPlace(layout, listeners));
    return new CtlTarget(
        state.toString(),
        layout.owner().path(),
        place.host(),
        place.nodeOrNull(),
        layout.data().node().credentials().clusterCa().path(),
        layout.path(),
        listeners);
  }

  static CtlTarget ofFolder(String name, Path folder, String endpoint) {
    return new CtlTarget(
        name, folder, endpoint, null, folder.resolve("ca.pem"), null, CtlListeners.UNKNOWN);
  }

  /** Returns the same cluster and operator, but another node. */
  CtlTarget at(String other) {
    return new CtlTarget(name, folder, other, null, nodeCa, stateOrNull, CtlListeners.UNKNOWN);
  }

  /**
   * Returns where the debug service of the node is: where the node says, or else at the usual port
   * of the endpoint.
   */
  InetSocketAddress debug() {
    return listeners
        .named("debug")
        .map(CtlListeners.Listener::address)
        .orElseGet(() -> Session.resolved(endpoint, Session.DEBUG_PORT));
  }

  /** Returns the address to dial for a listener; one that is bound to all addresses is here too. */
  private static String host(CtlListeners.Listener listener) {
    return listener.address().getAddress().isAnyLocalAddress()
        ? LOOPBACK
        : listener.address().getAddress().getHostAddress();
  }

  /** Returns the id of the node on this machine, unless its certificate is not for this user. */
  private static Optional<NodeId> ownId(Root layout) {
    try {
      String pem = Files.readString(layout.data().node().credentials().certificate().path());
      return Optional.of(NodeId.of(Pem.certificate(pem).getPublicKey()));
    } catch (IOException | PkiException none) {
      // A node that is no member yet has none, and one that runs as another user shows none.
      return Optional.empty();
    }
  }

  private static Place placeOf(ClusterDirectory.Node node) {
    return new Place(
        node.getAddresses(0).getHost(),
        Optional.of(node.getId()).filter(NodeId::matches).map(NodeId::parse).orElse(null));
  }

  /**
   * Returns where the node was last.
   *
   * @throws CtlException if the file that says so cannot be read; it tells why the node ended
   *     instead if it did, since that file may be the reason
   */
  private static Place lastPlace(Root layout, CtlListeners listeners) {
    Path file = layout.esp().clusterDirectory().path();
    try {
      ClusterDirectory directory = ClusterDirectory.parseFrom(Files.readAllBytes(file));
      return directory.getNodesCount() == 0 || directory.getNodes(0).getAddressesCount() == 0
          ? new Place(LOOPBACK, null)
          : placeOf(directory.getNodes(0));
    } catch (NoSuchFileException e) {
      return new Place(LOOPBACK, null);
    } catch (IOException e) {
      Optional<String> crash = listeners.nodeIsDown() ? lastCrash(layout) : Optional.empty();
      if (crash.isPresent()) {
        throw new CtlException(
            ExitCode.UNREACHABLE, CallFailure.ended(listeners.state(), crash.get()), e);
      }
      String why =
          e instanceof InvalidProtocolBufferException
              ? "is damaged"
              : "cannot be read: " + DiskTrouble.words(e);
      throw new CtlException(file + " " + why + "; give --endpoint HOST", e);
    }
  }

  public Path ownerKey() {
    return ownerKey(folder);
  }

  private static Path ownerKey(Path folder) {
    return folder.resolve("owner-key.pem");
  }

  /** Returns the place of the new key of a rotation that is in progress. */
  public Path nextOwnerKey() {
    return folder.resolve("owner-key-next.pem");
  }

  /** Returns the place where a rotation sets a former key aside. */
  public Path formerOwnerKey(PublicKey key) {
    return folder.resolve(
        "owner-key-former-%s.pem"
            .formatted(HexFormat.of().formatHex(Ed25519.raw(key), 0, SHORT_KEY_BYTES)));
  }

  /** Returns whether the node has its state directory here and its process is starting over. */
  boolean isRestarting() {
    return state()
        .map(Root::at)
        .map(layout -> layout.ephemeral().launcher().restarting().path())
        .filter(file -> NamedProcess.of(file) == NamedProcess.LIVES)
        .isPresent();
  }

  /** Returns where the node listens at this moment, if it runs on this machine. */
  public CtlListeners listenersNow() {
    return listeners.state().isEmpty() ? listeners : CtlListeners.of(Root.at(stateOrNull));
  }

  /** Returns whether the node on this machine has ended, and no new process takes its place. */
  boolean hasEnded() {
    return listenersNow().nodeIsDown()
        && !isRestarting()
        && state()
            .map(directory -> Root.at(directory).lock().path())
            .filter(lock -> Files.exists(lock) && NamedProcess.of(lock) != NamedProcess.ENDED)
            .isEmpty();
  }

  /** Returns whether the process of the node on this machine lives, whether it listens or not. */
  public boolean isRunning() {
    return state()
        .map(directory -> NamedProcess.of(Root.at(directory).lock().path()) == NamedProcess.LIVES)
        .orElse(false);
  }

  private boolean isStopped() {
    return state().flatMap(node -> NamedProcess.stopped(Root.at(node).lock().path())).isPresent();
  }

  /**
   * Returns the node on this machine that listens at an address and whose process a signal has
   * stopped: this node, or another one of its cluster.
   */
  Optional<StoppedNode> stoppedAt(InetSocketAddress address) {
    if (stateOrNull == null) {
      return Optional.empty();
    }
    Stream<Path> others =
        ClusterBase.holding(stateOrNull).stream().flatMap(base -> base.nodes().stream());
    return Stream.concat(Stream.of(stateOrNull), others)
        .filter(node -> listens(node, address))
        .flatMap(
            node ->
                NamedProcess.stopped(Root.at(node).lock().path()).stream()
                    .map(process -> new StoppedNode(process, node)))
        .findFirst();
  }

  private boolean listens(Path node, InetSocketAddress address) {
    CtlListeners now = CtlListeners.of(Root.at(node));
    boolean own = node.equals(stateOrNull) && !listeners.state().isEmpty();
    // A node that is starting has named no listener yet.
    return now.has(address) || own && now.all().isEmpty();
  }

  /** Holds the number of a node's process and the node's state directory. */
  record StoppedNode(long process, Path state) {}

  /** Returns whether the folder is gone that a node makes before anything else. */
  boolean lacksFilesOfRun() {
    return state()
        .filter(directory -> !Files.isDirectory(Root.at(directory).ephemeral().path()))
        .isPresent();
  }

  /**
   * Returns how the process of the node on this machine was ended from outside, and what of it is
   * left.
   */
  Optional<String> killed() {
    return state()
        .map(Root::at)
        .flatMap(
            layout -> killed(layout).or(() -> signalled(layout)).map(how -> how + left(layout)));
  }

  private static Optional<String> signalled(Root layout) {
    return firstLine(layout.ephemeral().launcher().endedBy())
        .map(line -> line.split(" ", 2))
        .filter(words -> words.length == 2)
        .map(
            words ->
                "its last run was ended by %s at %s%s"
                    .formatted(words[0], words[1], SIGNALS.getOrDefault(words[0], "")));
  }

  /**
   * Returns the jars of the running node's program that have changed since its start, in a clause;
   * empty if there are none, or this user may not see them.
   */
  Optional<String> changedProgram() {
    Optional<Path> lock = state().map(directory -> Root.at(directory).lock().path());
    Optional<Long> process = lock.flatMap(NamedProcess::living);
    if (process.isEmpty()) {
      return Optional.empty();
    }
    try {
      List<String> changed =
          new ProgramFiles(Path.of("/proc", process.get().toString()))
              .changedSince(Files.getLastModifiedTime(lock.get()));
      return changed.isEmpty() ? Optional.empty() : Optional.of(ProgramFiles.text(changed));
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static Optional<String> killed(Root layout) {
    try {
      return KilledProcess.of(layout.ephemeral().launcher().memoryKills().path());
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private static String left(Root layout) {
    try {
      String alive = ProcessRecords.alive(layout.ephemeral().processes().path());
      return alive.isEmpty() ? "" : "; still running, for the next start: %s".formatted(alive);
    } catch (ProcessException unreadable) {
      return "; the other processes that still run are unknown: " + unreadable.getMessage();
    }
  }

  /** Returns why the last start of the node on this machine was refused, or its run crashed. */
  public Optional<String> lastCrash() {
    return state().map(Root::at).flatMap(CtlTarget::lastCrash);
  }

  private static Optional<String> lastCrash(Root layout) {
    return jvmReport(layout.ephemeral().launcher().jvmError().path()).or(() -> lastRecord(layout));
  }

  /** Returns why the JVM gave up; its next start makes a crash record of it. */
  private static Optional<String> jvmReport(Path file) {
    try {
      return JvmReport.read(file).map(JvmReport::cause);
    } catch (IOException unreadable) {
      return Optional.of(
          "a failure of the Java virtual machine; %s has more, and cannot be read: %s"
              .formatted(file, DiskTrouble.words(unreadable)));
    }
  }

  private static Optional<String> lastRecord(Root layout) {
    return firstLine(
        layout.ephemeral().launcher().refused(),
        layout.esp().crash(),
        layout.ephemeral().launcher().crash());
  }

  /** Returns the first line of the first of the files that can be read. */
  private static Optional<String> firstLine(FilePlacement... files) {
    return Stream.of(files)
        .map(FilePlacement::path)
        .filter(Files::isReadable)
        .findFirst()
        .flatMap(CtlTarget::firstLine);
  }

  private static Optional<String> firstLine(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      return lines.findFirst();
    } catch (IOException | UncheckedIOException unreadable) {
      return Optional.of(file + " has more, and cannot be read: " + unreadable.getMessage());
    }
  }

  /** Returns the state directory of the node; empty if it is not on this machine. */
  public Optional<Path> state() {
    return Optional.ofNullable(stateOrNull);
  }

  /** Returns the node that has this address; empty if only the operator says so. */
  public Optional<NodeId> node() {
    return Optional.ofNullable(nodeOrNull);
  }

  /** Returns which nodes answered this operator at endpoints without a known node. */
  KnownNodes knownNodes() {
    return new KnownNodes(folder);
  }

  /** Returns which certificates of this operator's cluster are revoked. */
  KnownRevocations knownRevocations() {
    return new KnownRevocations(folder);
  }

  public Path recoveryKey() {
    return folder.resolve("recovery-key.pem");
  }

  public Path ownerCertificate() {
    return folder.resolve("owner.pem");
  }

  public Path clusterCa() {
    return folder.resolve("ca.pem");
  }
}
