package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUnavailableException;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdException;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.kubernetes.address.HostAddress;
import dev.polis.kubernetes.audit.AuditFiles;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import dev.polis.kubernetes.pki.KubeLifetimes;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.KlogConverter;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiException;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Runs the control plane of Kubernetes on this node. Its programs survive it unless the stop reason
 * ends work; the package explains this.
 */
public final class ControlPlane {

  /** The name of the role. */
  public static final String ROLE = "KubernetesController";

  private static final String PROCESS = "kube-apiserver";

  /** The condition of a node that cannot have its host address. */
  private static final String NO_ADDRESS = "kubernetes-host-address";

  /** The condition of certificates that the node cannot renew now. */
  private static final String NOT_RENEWED = "kubernetes-keys-not-renewed";

  /** The interval of checks of a starting API server, which needs at least 3 s. */
  private static final Duration READY_POLL = Duration.ofMillis(100);

  /**
   * The interval of checks of the curator, which listens before the node is HOME. A node without a
   * curator does not have the role.
   */
  private static final Duration CURATOR_POLL = Duration.ofSeconds(1);

  /** The number of checks in a certificate's life: one every two hours in 30 days. */
  private static final int REFRESHES = 360;

  /** The longest interval of checks, in which the node restores a lost key. */
  private static final Duration LONGEST_REFRESH = Duration.ofMinutes(10);

  /**
   * The interval of checks whether etcd has moved or has other CAs, which reads memory. A rotation
   * waits for each API server.
   */
  private static final Duration ETCD_POLL = Duration.ofSeconds(2);

  private final KubernetesSettings settings;
  private final ControlParts parts;
  private final KubeLifetimes lifetimes;
  private final InstantSource clock;
  private final AtomicReference<KubeKeys> newest = new AtomicReference<>();

  /** One object, so that two accesses to the same address are equal. */
  private final Supplier<KubeKeys> keys = newest::get;

  private final MutableValue<Optional<ControlAccess>> access = new MutableValue<>(Optional.empty());
  private final MutableValue<ReadyServer> ready = new MutableValue<>();

  /**
   * Creates a control plane that does not run yet.
   *
   * @param before the facts of the instance that runs now
   */
  public ControlPlane(KubernetesSettings settings, ControlParts parts, OrganState before) {
    this(settings, parts, before, KubeLifetimes.STANDARD, InstantSource.system());
  }

  /**
   * Creates a control plane whose certificates have other lifetimes.
   *
   * @param clock the clock for their issue and renewal
   */
  ControlPlane(
      KubernetesSettings settings,
      ControlParts parts,
      OrganState before,
      KubeLifetimes lifetimes,
      InstantSource clock) {
    this.settings = settings;
    this.parts = parts;
    this.lifetimes = lifetimes;
    this.clock = clock;
    ReadyServer.of(before)
        .ifPresent(
            server -> {
              ready.set(server);
              newest.set(server.keys());
              access.set(Optional.of(new ControlAccess(server.address(), keys)));
            });
  }

  /**
   * Returns the facts that let the next instance call the API server before it runs; none unless
   * the process that was ready still runs.
   */
  public OrganState facts() {
    Optional<ReadyServer> server = ready.peek().filter(this::runs);
    return access.peek().orElseThrow().isPresent() && server.isPresent()
        ? new ReadyServer(
                server.get().address(), server.get().digest(), server.get().pid(), newest.get())
            .facts()
        : OrganState.NONE;
  }

  /**
   * Forgets the API server of an earlier instance if its process has ended since. Call it before
   * the first request.
   */
  public void forgetEnded() {
    if (ready.peek().filter(this::runs).isEmpty()) {
      access.set(Optional.empty());
    }
  }

  private boolean runs(ReadyServer server) {
    return parts
        .processes()
        .find(PROCESS)
        .filter(process -> process.pid() == server.pid())
        .isPresent();
  }

  /**
   * Returns the access to this node's API server; empty until it has been ready once. It stays when
   * a run ends and leaves the programs running, so that requests meanwhile are answered.
   */
  public Value<Optional<ControlAccess>> access() {
    return access;
  }

  /** Runs until it is cancelled, or until the node has another address. */
  public void run(Context context) throws Exception {
    KubernetesPrograms programs =
        KubernetesPrograms.find(settings.programs(), KubernetesPrograms.ofController());
    try (HealthScope health = parts.health().role(ROLE, "");
        Watcher<NetworkStatus> network = parts.network().watch()) {
      InetAddress address =
          network.get(status -> status.address().isPresent()).address().orElseThrow();
      ClusterStatus member = awaitMembership();
      NodeId node = member.credentials().orElseThrow().id();
      ControlPlace place = place(node, address, health);
      ControlFolder files = new ControlFolder(parts.folders().folder(ControlFolder.FOLDER));
      ControlMaterial material = new ControlMaterial(settings, place, files, clock, lifetimes);
      FolderPlacement audit = parts.folders().folder(AuditFiles.FOLDER);
      files.flexVolumes().create();
      ControlOwners owners = ControlOwners.find(programs, files.path());
      owners.give(files, audit, parts.processes());
      owners.tell(health, context.log());
      new Run(context, programs, place, files, audit, owners, material, health)
          .serve(member, network);
    } finally {
      if (context.stopReason().filter(reason -> !reason.endsWork()).isEmpty()) {
        access.set(Optional.empty());
      }
    }
  }

  private ClusterStatus awaitMembership() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = parts.cluster().watch()) {
      return watcher.get(
          status ->
              status.credentials().isPresent()
                  && (status.state() == ClusterState.HOME || status.state() == ClusterState.SPLIT));
    }
  }

  /** Tries to set the host address, and returns the addresses of the programs. */
  private ControlPlace place(NodeId node, InetAddress address, HealthScope health)
      throws FileException, InterruptedException {
    ControlPlace place = ControlPlace.of(node, address, settings);
    Optional<HostAddress> derived = hostAddress(address);
    Optional<String> problem = derived.isEmpty() ? Optional.empty() : derived.get().claim(ROLE);
    if (problem.isEmpty()) {
      return place;
    }
    health.set(
        HealthCondition.degraded(
            NO_ADDRESS,
            "the API server serves at %s, which no worker reaches: %s"
                .formatted(address.getHostAddress(), problem.get()),
            "run the node as root, or give it an address that is not a loopback address"));
    return place.withoutHostAddress();
  }

  private Optional<HostAddress> hostAddress(InetAddress address) throws FileException {
    KubernetesAddresses addresses = KubernetesAddresses.of(address, settings.links());
    return addresses.derived()
        ? Optional.of(
            new HostAddress(
                parts.folders().folder(HostAddress.FOLDER),
                addresses.host(),
                Path.of(settings.programs())))
        : Optional.empty();
  }

  /**
   * Stops the control plane's programs in order, also those of an earlier instance, and removes the
   * host address. Call it only while no run is active.
   *
   * @param forGood true if the role is gone, so that its files go too
   */
  public void end(boolean forGood) throws InterruptedException, IOException {
    ProcessManager processes = parts.processes();
    for (String name : KubernetesPrograms.ofController().reversed()) {
      processes.stop(name);
    }
    Optional<InetAddress> address = parts.network().peek().flatMap(NetworkStatus::address);
    if (address.isPresent()) {
      Optional<HostAddress> host = hostAddress(address.get());
      if (host.isPresent()) {
        Optional<String> problem = host.get().release(ROLE);
        if (problem.isPresent()) {
          throw new IOException("the node could not remove the host address: " + problem.get());
        }
      }
    }
    if (forGood) {
      new ControlFolder(parts.folders().folder(ControlFolder.FOLDER)).delete();
    }
  }

  /** Runs the programs once, at one address. */
  private final class Run {

    private final Context context;
    private final KubernetesPrograms programs;
    private final ControlPlace place;
    private final ControlFolder files;
    private final FolderPlacement audit;
    private final ControlOwners owners;
    private final ControlMaterial material;
    private final HealthScope health;
    private final NodeChanges nodes = new NodeChanges();

    Run(
        Context context,
        KubernetesPrograms programs,
        ControlPlace place,
        ControlFolder files,
        FolderPlacement audit,
        ControlOwners owners,
        ControlMaterial material,
        HealthScope health) {
      this.context = context;
      this.programs = programs;
      this.place = place;
      this.files = files;
      this.audit = audit;
      this.owners = owners;
      this.material = material;
      this.health = health;
    }

    void serve(ClusterStatus member, Watcher<NetworkStatus> network) throws Exception {
      ControlMaterial.Made made = material.refresh(member);
      newest.set(made.keys());
      ControlAccess way = new ControlAccess(place.api(), keys);
      ControlSpecs specs = specs(made);
      if (ready.peek().filter(server -> isAdopted(server, specs.apiServer())).isEmpty()) {
        // Another process will answer, and its answers count only once it is ready.
        access.set(Optional.empty());
      }
      try (KubeClient api = way.open();
          KubeClient manager =
              way.open(
                  local(ControlCommands.CONTROLLER_MANAGER_PORT),
                  KubeIdentity.CONTROLLER_MANAGER.userName());
          KubeClient scheduler =
              way.open(local(ControlCommands.SCHEDULER_PORT), KubeIdentity.SCHEDULER.userName())) {
        start(specs.apiServer(), new ApiServerProbe(api));
        awaitReady(api);
        describe(specs.apiServer()).ifPresent(ready::set);
        access.set(Optional.of(way));
        material.report(member, made.etcd().cas());
        start(specs.controllerManager(), new HealthzProbe(manager, api));
        start(specs.scheduler(), new HealthzProbe(scheduler, api));
        Reconciler reconciler = reconciler(api);
        reconciler.first(context.log());
        context.run("reconciler", child -> reconciler.run(child, parts.health(), ROLE));
        context.run("labels", child -> copyObjects(child, api));
        context.run("node-watch", this::watchNodes);
        context.healthy();
        context.log().info("the API server %s is ready at %s", programs.version(), place.api());
        stay(specs, made.etcd(), network);
      }
    }

    /** Returns whether a run with this description adopts the process that was ready. */
    private boolean isAdopted(ReadyServer server, ProcessSpec spec) {
      return server.address().equals(place.api())
          && server.digest().equals(spec.digest())
          && runs(server);
    }

    private Optional<ReadyServer> describe(ProcessSpec spec) {
      return parts
          .processes()
          .find(PROCESS)
          .map(process -> new ReadyServer(place.api(), spec.digest(), process.pid(), newest.get()));
    }

    private ControlSpecs specs(ControlMaterial.Made made) throws FileException {
      return ControlSpecs.of(
          new ControlCommands(programs, settings, place, files, new AuditFiles(audit.path())),
          files,
          owners,
          made.etcd().members());
    }

    private URI local(int port) {
      return ControlPlace.https(place.local(), port);
    }

    private void start(ProcessSpec spec, ControlProbe probe) {
      ControlProcess process =
          new ControlProcess(
              parts.processes(), spec, probe, parts.health(), ROLE, new KlogConverter());
      context.run(
          spec.name(),
          child -> {
            restore(child.log());
            process.run(child);
          });
    }

    /**
     * Restores the files and folders of the programs, since something else may have changed them.
     */
    private void restore(Log log) throws FileException, InterruptedException {
      synchronized (files) {
        owners.give(files, audit, parts.processes());
        RestoredFiles.tell(files.restore(), health, log);
      }
    }

    private void awaitReady(KubeClient api) throws InterruptedException {
      while (!api.answers(KubeClient.READY)) {
        Thread.sleep(READY_POLL);
      }
    }

    private Reconciler reconciler(KubeClient api) {
      return new Reconciler(
          api, new KubeLease(api, "polis-reconciler", place.node().text(), InstantSource.system()));
    }

    private void copyObjects(Context child, KubeClient api) throws InterruptedException {
      child.healthy();
      try (LeaderConnection leader = leader(child)) {
        WorkerRights rights = new WorkerRights(api, place.node(), clock);
        new NodeObjectTask(api, rights, leader.channel(), nodes, parts.health(), ROLE).run(child);
      }
    }

    private void watchNodes(Context child) throws InterruptedException {
      try (LeaderConnection leader = leader(child)) {
        nodes.follow(leader, child);
      }
    }

    /** Waits for the curator of this node, and connects to the leader. */
    private LeaderConnection leader(Context child) throws InterruptedException {
      Optional<InetSocketAddress> curator = parts.curator().get();
      while (curator.isEmpty()) {
        Thread.sleep(CURATOR_POLL);
        curator = parts.curator().get();
      }
      return new LeaderConnection(this::credentials, curator.get(), child.subLog("resolver"));
    }

    private NodeCredentials credentials() {
      return parts.cluster().peek().orElseThrow().credentials().orElseThrow();
    }

    /** Renews due certificates, until the node has another address or a program has changed. */
    private void stay(
        ControlSpecs specs, ControlMaterial.EtcdWay first, Watcher<NetworkStatus> network)
        throws InterruptedException, FileException, RestartRequest {
      ControlMaterial.EtcdWay etcd = first;
      long next = System.nanoTime() + pause().toNanos();
      while (true) {
        try {
          NetworkStatus moved =
              network.get(
                  status -> !status.address().equals(Optional.of(place.address())), shortPause());
          throw new RestartRequest("the node's address has changed: " + moved);
        } catch (TimeoutException stillHere) {
          if (System.nanoTime() - next >= 0 || !etcd.equals(etcd(etcd))) {
            etcd = refresh(specs).orElse(etcd);
            next = System.nanoTime() + pause().toNanos();
          }
        }
      }
    }

    /** Returns the way to etcd now, or the known one while this node has no access. */
    private ControlMaterial.EtcdWay etcd(ControlMaterial.EtcdWay known) {
      try {
        return ControlMaterial.etcd(parts.cluster().peek().orElseThrow());
      } catch (ConsensusUnavailableException away) {
        return known;
      }
    }

    private Duration shortPause() {
      return pause().compareTo(ETCD_POLL) < 0 ? pause() : ETCD_POLL;
    }

    private Duration pause() {
      Duration part = lifetimes.certificates().dividedBy(REFRESHES);
      return part.compareTo(LONGEST_REFRESH) < 0 ? part : LONGEST_REFRESH;
    }

    /** Renews what is due; returns the way to etcd, or nothing if the node could not check. */
    private Optional<ControlMaterial.EtcdWay> refresh(ControlSpecs specs)
        throws InterruptedException, FileException, RestartRequest {
      try {
        ClusterStatus member = parts.cluster().peek().orElseThrow();
        ControlMaterial.Made made = material.refresh(member);
        newest.set(made.keys());
        health.clear(NOT_RENEWED);
        if (!specs(made).equals(specs)) {
          throw new RestartRequest(
              "settings that the control plane's programs read only at their start have changed");
        }
        material.report(member, made.etcd().cas());
        return Optional.of(made.etcd());
      } catch (ConsensusUnavailableException | EtcdException | PkiException unavailable) {
        health.set(
            HealthCondition.degraded(
                NOT_RENEWED,
                "the node cannot check the keys and certificates of Kubernetes, and the first of them ends at %s: %s"
                    .formatted(newest.get().firstEnd(), unavailable.getMessage()),
                "repair that before then; the node tries again every ten minutes"));
        return Optional.empty();
      }
    }
  }
}
