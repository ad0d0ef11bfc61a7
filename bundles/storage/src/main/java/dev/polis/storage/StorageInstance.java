package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.FileCheck;
import dev.polis.health.FolderCheck;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.ModeCheck;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** Runs the work around the volume: its checks, and the audit log on it. */
final class StorageInstance implements OrganInstance {

  private final StorageService service;
  private final Subtree subtree;
  private final HealthScope health;
  private final AuditLog audit;

  /** Starts the runnables of the organ. */
  StorageInstance(
      StorageService service,
      Supervisor supervisor,
      HealthRegistry healths,
      ProcessManager processes,
      AuditLog audit) {
    this.service = service;
    this.audit = audit;
    ClockCheck clock = ClockCheck.of(service.root());
    this.subtree = supervisor.organ("storage");
    this.health = healths.organ("storage", subtree.dn());
    subtree.run("volume", service::watch);
    subtree.run("health", new StorageHealth(service, health)::run);
    subtree.run("daemons", new DaemonHealth(processes, health)::run);
    subtree.run(
        "records", SelfCheck.task(health, new RecordCheck(processes, InstantSource.system())));
    subtree.run("programs", SelfCheck.task(health, new ChildProgramCheck(processes)));
    subtree.run("clock", SelfCheck.task(health, clock::look));
    subtree.run("clock-steps", SelfCheck.task(health, ClockSteps.ofMachine()::look));
    subtree.run(
        "folders",
        SelfCheck.task(health, new FolderCheck("storage", this::folders, "restart the node")));
    subtree.run("room", SelfCheck.task(health, RoomCheck.of(service.root())::look));
    subtree.run("files", SelfCheck.task(health, new FileCheck("storage", this::files)));
    subtree.run("modes", SelfCheck.task(health, new ModeCheck(service.root())));
    service.slots().ifPresent(here -> subtree.run("slots", SelfCheck.task(health, here::look)));
    subtree.run("audit", new AuditVolume(service, audit, clock)::run);
    subtree.run("audit-health", StatusHealth.task(audit.status(), health, AuditVolume::judge));
  }

  /** Returns the folders that must exist in the present state of the volume. */
  private List<Path> folders() {
    Root root = service.root();
    List<Path> folders =
        new ArrayList<>(List.of(root.esp().path(), root.ephemeral().launcher().path()));
    if (service.data().peek().orElseThrow() instanceof DataStatus.Mounted) {
      folders.addAll(List.of(root.data().node().path(), AuditVolume.folder(root).path()));
    }
    return folders;
  }

  /** Reads the files that the next start needs in the present state of the volume. */
  private List<Stored<?>> files() {
    List<Stored<?>> files = new ArrayList<>(List.of(service.sealedIntact()));
    if (service.data().peek().orElseThrow() instanceof DataStatus.Mounted) {
      files.add(service.root().data().volume().read());
    }
    return files;
  }

  StorageService service() {
    return service;
  }

  @Override
  public OrganState give() throws InterruptedException {
    return service.give();
  }

  @Override
  public void resume(OrganState state) {
    service.resume(state);
  }

  /** Ends the watch; unmounts only if the work of this node ends. */
  @Override
  public void close(StopReason reason) {
    health.close();
    subtree.close(reason);
    if (reason.endsWork()) {
      unmount();
    }
  }

  private void unmount() {
    try {
      audit.release();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    service.unmount();
  }
}
