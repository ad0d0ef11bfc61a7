package dev.polis.containers;

import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.api.storage.DataStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** Runs the runtime in a supervised run, and loads images into it. */
final class ContainersService implements Containers, OrganInstance {

  /** The time for a second instance to adopt containerd, which needs about a fifth of a second. */
  private static final Duration ADOPTION = Duration.ofSeconds(10);

  // The names of the values that one instance passes to the next.
  private static final String REQUEST = "request";
  private static final String STATUS = "status";

  /** Holds the services that the organ uses. */
  record Parts(
      Root root,
      Value<DataStatus> data,
      ProcessManager processes,
      Supervisor supervisor,
      HealthRegistry health,
      LogTree logs) {}

  /** Holds a requested runtime. */
  private record Started(SandboxRequest request, Subtree tree) {}

  private final ContainersParts parts;
  private final Value<DataStatus> data;
  private final Subtree subtree;
  private final HealthScope health;
  private final Log log;
  private final ContainersState state = new ContainersState();
  private final ReentrantLock lock = new ReentrantLock();
  private Started started; // null before a start
  private SandboxRequest given; // the runtime that another instance runs now; null if there is none

  /** Opens the organ's subtree; the runtime runs only after a role requests it. */
  ContainersService(ContainersSettings settings, Parts parts) {
    this.data = parts.data();
    this.subtree = parts.supervisor().organ("containers");
    this.log = parts.logs().log(subtree.dn());
    this.parts =
        new ContainersParts(
            settings,
            new ContainersFiles(parts.root()),
            parts.processes(),
            subtree.dn() + "." + RuntimeProcess.NAME,
            new ImageStore.Loading());
    this.health = parts.health().organ("containers", subtree.dn());
    subtree.run("health", StatusHealth.task(state.status(), health, ContainersHealth::of));
    subtree.run(
        "network",
        SelfCheck.task(
            health, () -> ContainersHealth.ofNetwork(state.now(), MachineRoutes.read())));
  }

  /** Starts an instance, which takes over from the previous one if there is one. */
  static ContainersService start(
      ContainersSettings settings, Parts parts, HandOvers.Predecessor predecessor) {
    OrganState taken = predecessor.take();
    ContainersService service = new ContainersService(settings, parts);
    try {
      service.goOn(taken);
      return service;
    } catch (Throwable failure) {
      service.close(StopReason.CODE_REPLACED);
      throw failure;
    }
  }

  // ---- hand-over between instances

  /** Adopts the processes of the other instance. */
  private void goOn(OrganState taken) {
    Optional<SandboxRequest> request = taken.find(REQUEST, SandboxRequest.class);
    if (request.isEmpty()) {
      return;
    }
    state.goOn(taken.require(STATUS, ContainersStatus.class));
    start(request.get());
    try {
      if (!state.awaitServing(ADOPTION)) {
        throw new HandOverException(
            "the new instance of containers did not adopt containerd within %d s: %s"
                .formatted(ADOPTION.toSeconds(), state.now().text()));
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      throw new HandOverException("interrupted while containerd was adopted", hurried);
    }
  }

  /** Ends the supervision of the runtime, which another instance adopts. */
  @Override
  public OrganState give() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (started == null) {
        return OrganState.NONE;
      }
      ContainersStatus status = state.now();
      if (!(status instanceof ContainersStatus.Running)) {
        throw new HandOverException(
            "cannot hand over containerd, because it does not serve: %s; wait until it serves, or stop this instance first"
                .formatted(status.text()));
      }
      given = started.request();
      endRun();
      return OrganState.NONE.with(REQUEST, given).with(STATUS, status);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void resume(OrganState taken) {
    lock.lock();
    try {
      if (given != null) {
        SandboxRequest request = given;
        given = null;
        state.goOn(state.now());
        start(request);
      } else {
        taken.find(REQUEST, SandboxRequest.class).ifPresent(this::start);
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- the runtime

  @Override
  public void start(SandboxRequest request) {
    lock.lock();
    try {
      if (alreadyStarted(request)) {
        return;
      }
      if (given != null) {
        throw new ContainersException(
            "another instance of containers runs containerd now; ask that instance to start it");
      }
      requireDisk();
      state.starting("its turn");
      Subtree tree = subtree.subtree("runtime");
      started = new Started(request, tree);
      tree.run("run", new ContainersRun(parts, request, state));
    } finally {
      lock.unlock();
    }
  }

  private boolean alreadyStarted(SandboxRequest request) {
    if (started == null) {
      return false;
    }
    if (!started.request().sameSandbox(request)) {
      throw new ContainersException(
          "the container runtime serves %s and cannot start as %s; stop it first"
              .formatted(started.request(), request));
    }
    return true;
  }

  private void requireDisk() {
    DataStatus status = data.peek().orElseThrow();
    if (!(status instanceof DataStatus.Mounted)) {
      throw new ContainersException(
          "containers need the data volume, which is " + status + "; mount it first");
    }
  }

  /** Ends the run but not its programs, which the removal ends in order if they must end. */
  private void endRun() {
    if (started != null) {
      started.tree().close(StopReason.CODE_REPLACED);
      started = null;
    }
  }

  @Override
  public void stop() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (given != null) {
        throw new ContainersException(
            "another instance of containers runs containerd now; ask that instance to stop it");
      }
      endRun();
      if (data.peek().orElseThrow() instanceof DataStatus.Mounted) {
        new SandboxRemoval(parts.processes(), parts.files(), parts.settings().programs(), log)
            .remove();
      }
      state.clear();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Value<ContainersStatus> status() {
    return state.status();
  }

  @Override
  public List<String> load(InputStream archive) throws IOException, InterruptedException {
    return store().load(archive);
  }

  @Override
  public List<String> images() throws InterruptedException {
    return store().list();
  }

  private ImageStore store() {
    ContainersStatus.Running running = state.running();
    Path ctr = Path.of(parts.settings().programs()).toAbsolutePath().resolve("bin/ctr");
    return new ImageStore(running.sandbox(), ctr, parts.files(), parts.loading());
  }

  /**
   * Ends all runnables of this organ. Containers continue, unless the reason ends work and no other
   * instance has them.
   */
  @Override
  public void close(StopReason reason) {
    health.close();
    try {
      if (reason.endsWork() && !gave()) {
        stop();
      }
    } catch (InterruptedException hurried) {
      log.warning("interrupted while stopping containers; they may still run");
      Thread.currentThread().interrupt();
    } catch (ContainersException stuck) {
      log.error("the node could not end the containers: %s", stuck.getMessage());
    } finally {
      abandon();
      subtree.close(reason);
    }
  }

  private boolean gave() {
    lock.lock();
    try {
      return given != null;
    } finally {
      lock.unlock();
    }
  }

  private void abandon() {
    lock.lock();
    try {
      endRun();
      if (given == null) {
        state.clear();
      }
    } finally {
      lock.unlock();
    }
  }
}
