package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.containers.Containers;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.boot.StopReason;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.kubernetes.address.HostAddress;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.KlogConverter;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ProcessManager;
import dev.polis.process.ReadyProbe;
import dev.polis.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** Does the work of the role KubernetesWorker. */
public final class WorkerService implements RolePlugin {

  /** The role. */
  public static final String ROLE = "KubernetesWorker";

  private static final String CLAIM = "worker";

  /** Where an API server says that it is ready. */
  private static final String READY = "/readyz";

  /**
   * Holds what the role works with.
   *
   * @param curatorPort of the curator listener of every node
   */
  public record Parts(
      ClusterManager cluster,
      Network network,
      Storage storage,
      Containers containers,
      ProcessManager processes,
      HealthRegistry health,
      int curatorPort) {}

  private final KubernetesSettings settings;
  private final Parts parts;

  /** Makes the role; nothing is started. */
  public WorkerService(KubernetesSettings settings, Parts parts) {
    this.settings = settings;
    this.parts = parts;
  }

  /**
   * Runs the worker's programs until cancelled. This run itself does not fail, so that the role
   * also ends in order while the programs cannot be started.
   */
  @Override
  public void run(Context context) throws Exception {
    MutableValue<Boolean> working = new MutableValue<>();
    try (HealthScope health = parts.health().role(ROLE, "");
        Watcher<Boolean> watcher = working.watch()) {
      context.run("worker", child -> work(child, health, working));
      watcher.get();
      context.healthy();
      context.awaitCancelled();
    } finally {
      if (context.stopReason().filter(StopReason::endsWork).isPresent()) {
        // Also what an earlier run left behind that this one has not adopted.
        end(context);
      }
    }
  }

  private void work(Context context, HealthScope health, MutableValue<Boolean> working)
      throws Exception {
    NodeCredentials self = awaitCredentials();
    InetAddress address = awaitAddress();
    WorkerPlan plan = plan(self, address);
    awaitVolume();
    WorkerFiles files = new WorkerFiles(parts.storage()::folder);
    claim(plan);
    try (LeaderConnection leader =
        new LeaderConnection(
            this::credentials,
            new InetSocketAddress(address, parts.curatorPort()),
            context.subLog("resolver"))) {
      serve(context, plan, files, leader, health, working);
    } finally {
      if (context.stopReason().filter(StopReason::endsWork).isPresent()) {
        new MachineNetwork(plan).clean(context.log());
      }
    }
  }

  private void serve(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      LeaderConnection leader,
      HealthScope health,
      MutableValue<Boolean> working)
      throws InterruptedException, RestartRequest {
    MutableValue<WorkerCredentials> credentials = new MutableValue<>();
    try (KubeClient kubelet = client(plan, credentials, WorkerCredentials::kubelet);
        KubeClient provisioner = client(plan, credentials, WorkerCredentials::provisioner)) {
      // What is started last ends first: the node is emptied, the kubelet ends, the Node object
      // goes, then the network services, then the runtime, and the way to the API server last.
      startAccess(context, plan, files, leader, health, credentials);
      context.run("runtime", new RuntimeTask(parts.containers(), plan.sandbox(files), health));
      ApiServerWait api = new ApiServerWait(() -> kubelet.answers(READY));
      startNetworkServices(context, plan, files, credentials, api);
      MutableValue<Optional<JsonObject>> node = new MutableValue<>();
      context.run("node-watch", new NodeWatch(kubelet, plan, credentials, node));
      context.run("node-health", StatusHealth.task(node, health, NodeHealth::ofNode));
      context.run(
          "volumes", new VolumeProvisioner(provisioner, plan, files.volumes(), credentials));
      context.run("node-object", at -> whenRemoved(at, () -> deleteNode(at.log(), kubelet, plan)));
      startKubelet(context, plan, files, credentials, api);
      context.run("pod-network", new PodNetworkTask(parts.containers(), plan, files, node));
      context.run(
          "drain", at -> whenRemoved(at, () -> new NodeDrain(kubelet, plan, at.log()).run()));
      context.healthy();
      working.set(true);
      awaitOtherAddress(plan);
    }
  }

  private void startAccess(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      LeaderConnection leader,
      HealthScope health,
      MutableValue<WorkerCredentials> credentials) {
    MutableValue<Set<InetSocketAddress>> controllers = new MutableValue<>();
    context.run(
        "certificates",
        new CertificateTask(leader, plan, files, health, credentials, InstantSource.system()));
    context.run(
        "controllers",
        new ControllerWatch(
            leader, settings, new KnownControllers(files.controllers), controllers));
    context.run(
        "controllers-health", StatusHealth.task(controllers, health, NodeHealth::ofControllers));
    HandshakeProbe probe =
        new HandshakeProbe(() -> credentials.peek().map(known -> known.certificates().ca()));
    context.run("balancer", new LoadBalancer(plan.balancerAddress(), controllers, probe));
  }

  private void startNetworkServices(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      Value<WorkerCredentials> credentials,
      ApiServerWait api) {
    MachineNetwork network = new MachineNetwork(plan);
    DnsFiles dns = new DnsFiles(plan, files);
    context.run(
        DnsFiles.NAME,
        child(
            plan,
            credentials,
            runtime -> {
              network.addDnsAddress(runtime.sandbox());
              return dns.prepare(runtime);
            },
            // It answers for names of the world, too, for which it needs no API server.
            new ApiServerWait(ReadyProbe.running()),
            DnsFiles.READY_PORT,
            "/ready",
            LineConverter.raw()));
    ProxyFiles proxy = new ProxyFiles(plan, files);
    context.run(
        ProxyFiles.NAME,
        child(
            plan,
            credentials,
            proxy::prepare,
            api,
            ProxyFiles.HEALTH_PORT,
            // The other path fails for a node that is being deleted, too.
            "/livez",
            new KlogConverter()));
  }

  private void startKubelet(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      Value<WorkerCredentials> credentials,
      ApiServerWait api) {
    KubeletFiles kubelet = new KubeletFiles(plan, files);
    context.run(
        KubeletFiles.NAME,
        child(
            plan,
            credentials,
            kubelet::prepare,
            api,
            KubeletFiles.HEALTH_PORT,
            "/healthz",
            new KlogConverter()));
  }

  private ChildTask child(
      WorkerPlan plan,
      Value<WorkerCredentials> credentials,
      ChildTask.Preparation preparation,
      ApiServerWait api,
      int port,
      String path,
      LineConverter converter) {
    InetSocketAddress at = new InetSocketAddress(plan.addresses().worker(), port);
    return new ChildTask(
        parts.processes(),
        parts.containers().status(),
        credentials,
        preparation,
        api,
        new ChildTask.Probe(at, path),
        parts.health(),
        converter);
  }

  private static KubeClient client(
      WorkerPlan plan,
      Value<WorkerCredentials> credentials,
      Function<WorkerCredentials, TlsIdentity> user) {
    TlsTrust.Source trust =
        TlsTrust.Source.of(
            () -> credentials.peek().orElseThrow().certificates().ca(), Optional::empty);
    return new KubeClient(
        plan.balancer(), () -> credentials.peek().map(user), TlsTrust.authority(trust));
  }

  // ---- the end of the role

  private static boolean removed(Context context) {
    return context.stopReason().filter(StopReason.ROLE_REMOVED::equals).isPresent();
  }

  /** Does something once the role is removed, and nothing if the run ends for another reason. */
  private static void whenRemoved(Context context, EndOfRole work) throws InterruptedException {
    context.healthy();
    try {
      context.awaitCancelled();
    } finally {
      if (removed(context)) {
        work.run();
      }
    }
  }

  /** Undoes a part of what the role did. */
  @FunctionalInterface
  private interface EndOfRole {
    void run() throws InterruptedException;
  }

  private static void deleteNode(Log log, KubeClient kubelet, WorkerPlan plan)
      throws InterruptedException {
    try {
      kubelet.delete(plan.nodePath());
      log.info("The Node object %s is deleted.", plan.node());
    } catch (IOException e) {
      log.warning(
          "The Node object %s is not deleted: %s; 'kubectl delete node' does it.",
          plan.node(), e.getMessage());
    }
  }

  /** Ends what runs of the worker, in order, whoever started it. */
  private void end(Context context) throws InterruptedException, IOException {
    for (String name : List.of(KubeletFiles.NAME, ProxyFiles.NAME, DnsFiles.NAME)) {
      parts.processes().stop(name);
    }
    parts.containers().stop();
    Optional<KubernetesAddresses> addresses =
        parts
            .network()
            .status()
            .peek()
            .flatMap(NetworkStatus::address)
            .map(address -> KubernetesAddresses.of(address, settings.links()))
            .filter(KubernetesAddresses::derived);
    if (addresses.isPresent()) {
      host(addresses.get())
          .release(CLAIM)
          .ifPresent(
              problem ->
                  context.log().warning("the node's address for Kubernetes stays: %s", problem));
    }
    if (removed(context)) {
      new WorkerFiles(parts.storage()::folder).deleteConfiguration();
    }
  }

  private HostAddress host(KubernetesAddresses addresses) throws IOException {
    return new HostAddress(parts.storage().folder(HostAddress.FOLDER), addresses.host());
  }

  // ---- what is decided before anything is started

  private WorkerPlan plan(NodeCredentials self, InetAddress address)
      throws WorkerException, InterruptedException {
    WorkerRequirements requirements = new WorkerRequirements(settings);
    requirements.requireRoot(System.getProperty("user.name"));
    KubernetesPrograms programs = requirements.programs();
    return new WorkerPlan(
        self.id(),
        settings,
        programs,
        KubernetesAddresses.of(address, settings.links()),
        requirements.isolation(address, parts.network().ownsInterfaces()));
  }

  private void claim(WorkerPlan plan) throws IOException, InterruptedException, WorkerException {
    if (!plan.addresses().derived()) {
      return;
    }
    Optional<String> problem = host(plan.addresses()).claim(CLAIM);
    if (problem.isPresent()) {
      throw new WorkerException(
          "this node has no address that its worker reaches it at: " + problem.get());
    }
  }

  private NodeCredentials awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = parts.cluster().status().watch()) {
      return watcher.get(status -> status.credentials().isPresent()).credentials().orElseThrow();
    }
  }

  private NodeCredentials credentials() {
    return parts.cluster().status().peek().orElseThrow().credentials().orElseThrow();
  }

  private InetAddress awaitAddress() throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = parts.network().status().watch()) {
      return watcher.get(status -> status.address().isPresent()).address().orElseThrow();
    }
  }

  private void awaitVolume() throws InterruptedException {
    try (Watcher<DataStatus> watcher = parts.storage().data().watch()) {
      watcher.get(DataStatus.Mounted.class::isInstance);
    }
  }

  /** Waits until the node has another address, for which everything is started anew. */
  private void awaitOtherAddress(WorkerPlan plan) throws InterruptedException, RestartRequest {
    try (Watcher<NetworkStatus> watcher = parts.network().status().watch()) {
      NetworkStatus other =
          watcher.get(
              status ->
                  status
                      .address()
                      .map(now -> KubernetesAddresses.of(now, settings.links()))
                      .filter(now -> !now.equals(plan.addresses()))
                      .isPresent());
      throw new RestartRequest("the node's address is now " + other.address().orElseThrow());
    }
  }
}
