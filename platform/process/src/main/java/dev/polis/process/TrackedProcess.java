package dev.polis.process;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.nio.file.Path;
import java.time.Duration;

/** Follows one process of this manager until it ends. */
final class TrackedProcess implements ManagedProcess, AutoCloseable {
  /**
   * The interval of checks of an adopted process, since the kernel reports only the end of own
   * children.
   */
  private static final Duration POLL = Duration.ofMillis(250);

  private final ProcessSpec spec;
  private final ProcessRecord record;
  private final long pid;
  private final boolean adopted;
  private final ProcessFiles files;
  private final long logStart;
  private final MutableValue<ProcessStatus> status;
  private volatile boolean stopping;
  private volatile Runnable unwatch = () -> {};

  private TrackedProcess(
      ProcessSpec spec,
      ProcessRecord record,
      long pid,
      boolean adopted,
      ProcessFiles files,
      long logStart) {
    this.spec = spec;
    this.record = record;
    this.pid = pid;
    this.adopted = adopted;
    this.files = files;
    this.logStart = logStart;
    this.status =
        new MutableValue<>(new ProcessStatus.Running(pid, adopted, Proc.startInstant(pid)));
  }

  static TrackedProcess started(
      ProcessSpec spec, ProcessRecord record, Process child, ProcessFiles files, long logStart) {
    var process = new TrackedProcess(spec, record, child.pid(), false, files, logStart);
    child.onExit().thenAccept(ended -> process.ended(new ProcessStatus.Exited(ended.exitValue())));
    return process;
  }

  static TrackedProcess adopted(ProcessSpec spec, ProcessRecord record, ProcessFiles files) {
    var process = new TrackedProcess(spec, record, record.pid(), true, files, 0);
    Thread watcher = Thread.ofVirtual().name("process-" + spec.name()).start(process::watch);
    process.unwatch = watcher::interrupt;
    return process;
  }

  private void watch() {
    try {
      while (record.stillAlive()) {
        Thread.sleep(POLL);
      }
      ended(new ProcessStatus.Vanished());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void ended(ProcessStatus how) {
    status.update(
        before ->
            before.filter(ProcessStatus.Running.class::isInstance).isEmpty()
                ? before.orElse(how)
                : stopping ? new ProcessStatus.Stopped() : how);
  }

  ProcessSpec spec() {
    return spec;
  }

  boolean is(ProcessRecord other) {
    return record.token().equals(other.token());
  }

  /** Returns whether the process lives and is not to be stopped, but has no record. */
  boolean lacksRecord() {
    return !stopping && running() && record.stillAlive() && files.read(spec.name()).isEmpty();
  }

  void writeRecord() {
    files.write(record);
  }

  /** Records that the process will be stopped on request. */
  void expectStop() {
    stopping = true;
  }

  @Override
  public String name() {
    return spec.name();
  }

  @Override
  public long pid() {
    return pid;
  }

  @Override
  public boolean adopted() {
    return adopted;
  }

  @Override
  public Path log() {
    return files.log(spec.name());
  }

  @Override
  public long logStart() {
    return logStart;
  }

  @Override
  public Value<ProcessStatus> status() {
    return status;
  }

  @Override
  public void stop() throws InterruptedException {
    try (var _ = files.lock(spec.name())) {
      stopping = true;
      switch (spec.scope()) {
        case TREE -> ProcessRecords.stop(record);
        case PROCESS -> ProcessRecords.stopMain(record);
      }
      if (spec.scope() == ProcessSpec.Scope.TREE
          && files.read(spec.name()).filter(this::is).isPresent()) {
        files.forget(spec.name());
      }
      ended(new ProcessStatus.Stopped());
    }
  }

  /** Ends the watch; the process continues. */
  @Override
  public void close() {
    unwatch.run();
  }

  @Override
  public String toString() {
    return spec.name() + " (pid " + pid + ")";
  }
}
