package dev.polis.process;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Adopts, replaces or starts processes, and records each step before it takes it. */
final class Processes implements ProcessManager.OpenManager {
  private static final List<String> SETSID =
      List.of("/usr/bin/setsid", "/bin/setsid", "/usr/sbin/setsid");

  private final ProcessFiles files;
  private final LogTree logs;
  private final Log log;
  private final Consumer<StartStep> steps;
  private final Map<String, TrackedProcess> tracked = new ConcurrentHashMap<>();

  Processes(Path directory, LogTree logs, Consumer<StartStep> steps) {
    this.files = new ProcessFiles(directory);
    this.logs = logs;
    this.log = logs.log("process");
    this.steps = steps;
    files.create();
  }

  @Override
  public ManagedProcess ensure(ProcessSpec spec) throws InterruptedException {
    try (var _ = files.lock(spec.name())) {
      Optional<ProcessRecord> known = files.read(spec.name());
      if (known.isPresent()) {
        known = settle(known.get());
      }
      if (known.isPresent() && known.get().alive()) {
        if (known.get().digest().equals(spec.digest())) {
          return adopt(spec, known.get());
        }
        log.info("%s: runs from another spec, replacing pid %d", spec.name(), known.get().pid());
        expectStop(spec.name());
      }
      if (known.isPresent()) {
        clear(spec, known.get());
      }
      return start(spec);
    }
  }

  /** Completes the record of an interrupted start if the process was started. */
  private Optional<ProcessRecord> settle(ProcessRecord record) throws InterruptedException {
    if (record.state() == ProcessRecord.State.STARTED || !record.bootId().equals(Proc.bootId())) {
      return Optional.of(record);
    }
    Optional<Proc.Stat> found = record.findStarted();
    if (found.isEmpty()) {
      return Optional.of(record);
    }
    ProcessRecord started = record.started(found.get(), System.currentTimeMillis());
    files.write(started);
    log.info("%s: found pid %d by its token, a start was cut short", started.name(), started.pid());
    return Optional.of(started);
  }

  /** Ends the rest of an earlier process of this name. */
  private void clear(ProcessSpec spec, ProcessRecord old) throws InterruptedException {
    switch (spec.scope()) {
      case TREE -> ProcessRecords.stop(old);
      case PROCESS -> ProcessRecords.stopMain(old);
    }
  }

  private ManagedProcess adopt(ProcessSpec spec, ProcessRecord record) {
    TrackedProcess present = tracked.get(spec.name());
    if (present != null && present.is(record) && present.running()) {
      return present;
    }
    log.info("%s: adopted pid %d", spec.name(), record.pid());
    return track(TrackedProcess.adopted(spec, record, files));
  }

  private ManagedProcess start(ProcessSpec spec) throws InterruptedException {
    ProcessRecord intent =
        new ProcessRecord(
            spec.name(),
            spec.digest(),
            UUID.randomUUID().toString(),
            ProcessRecord.State.INTENT,
            0,
            0,
            Proc.bootId(),
            System.currentTimeMillis(),
            spec.grace().toMillis(),
            spec.command(),
            spec.stopSignal());
    Process child;
    ProcessBuilder builder = builder(spec, intent.token());
    long logStart = files.log(spec.name()).toFile().length();
    files.write(intent);
    steps.accept(StartStep.INTENT_WRITTEN);
    try {
      child = builder.start();
    } catch (IOException e) {
      files.forget(spec.name());
      throw new ProcessException(
          "cannot start %s: %s; check program and directory %s"
              .formatted(spec.name(), e.getMessage(), spec.directory()),
          e);
    }
    steps.accept(StartStep.SPAWNED);
    ProcessRecord record =
        Proc.stat(child.pid())
            .map(stat -> intent.started(stat, System.currentTimeMillis()))
            // It has ended already; its token still finds its descendants.
            .orElse(intent);
    files.write(record);
    steps.accept(StartStep.RECORDED);
    log.info("%s: started pid %d: %s", spec.name(), child.pid(), spec.command().getFirst());
    return track(TrackedProcess.started(spec, record, child, files, logStart));
  }

  private ProcessBuilder builder(ProcessSpec spec, String token) throws InterruptedException {
    Path program = Path.of(spec.command().getFirst());
    if (!Files.isExecutable(program)) {
      throw new ProcessException(
          "cannot start %s: %s %s"
              .formatted(
                  spec.name(),
                  program,
                  Files.exists(program)
                      ? "is not executable; run chmod 755 " + program
                      : "is not there; install it or correct the path"));
    }
    if (!Files.isDirectory(spec.directory())) {
      throw new ProcessException(
          "cannot start %s: working directory %s is not there"
              .formatted(spec.name(), spec.directory()));
    }
    List<String> command = RunAs.command(spec.account(), spec.command());
    var builder = new ProcessBuilder(Stream.concat(Stream.of(setsid()), command.stream()).toList());
    builder.environment().clear();
    builder.environment().putAll(spec.environment());
    builder.environment().put(Proc.TOKEN, token);
    builder.directory(spec.directory().toFile());
    builder.redirectInput(Path.of("/dev/null").toFile());
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(files.log(spec.name()).toFile()));
    builder.redirectErrorStream(true);
    return builder;
  }

  /**
   * Finds the setsid program. setsid makes its own process the leader of a new session, then
   * becomes the wanted program in it: the process id stays the same, and no signal to the node's
   * terminal or process group reaches it.
   */
  private static String setsid() {
    return SETSID.stream()
        .filter(place -> Files.isExecutable(Path.of(place)))
        .findFirst()
        .orElseThrow(
            () ->
                new ProcessException("no setsid in " + SETSID + "; install util-linux or busybox"));
  }

  private ManagedProcess track(TrackedProcess process) {
    TrackedProcess before = tracked.put(process.name(), process);
    if (before != null) {
      before.close();
    }
    return process;
  }

  @Override
  public Optional<ManagedProcess> find(String name) {
    return Optional.<ManagedProcess>ofNullable(tracked.get(name)).filter(ManagedProcess::running);
  }

  @Override
  public boolean lives(String name) throws InterruptedException {
    ProcessSpec.requireName(name);
    try (var _ = files.lock(name)) {
      Optional<ProcessRecord> known = files.read(name);
      return known.isPresent() && settle(known.get()).filter(ProcessRecord::alive).isPresent();
    }
  }

  @Override
  public Path log(String name) {
    ProcessSpec.requireName(name);
    return files.log(name);
  }

  @Override
  public List<ProcessRecord> records() {
    return files.readAll();
  }

  @Override
  public List<String> restoreRecords() throws InterruptedException {
    List<String> restored = new ArrayList<>();
    for (TrackedProcess process : tracked.values()) {
      if (process.lacksRecord() && files.createAgain()) {
        try (var _ = files.lock(process.name())) {
          if (process.lacksRecord()) {
            process.writeRecord();
            restored.add(process.name());
            log.warning("%s: its record was gone, and was written again", process.name());
          }
        }
      }
    }
    return restored;
  }

  @Override
  public void stop(String name) throws InterruptedException {
    ProcessSpec.requireName(name);
    try (var _ = files.lock(name)) {
      Optional<ProcessRecord> record = files.read(name);
      if (record.isPresent()) {
        expectStop(name);
        if (ProcessRecords.stop(record.get())) {
          log.info("%s: stopped", name);
        }
        files.forget(name);
      }
    }
  }

  private void expectStop(String name) {
    TrackedProcess present = tracked.get(name);
    if (present != null) {
      present.expectStop();
    }
  }

  @Override
  public LogTail tail(ManagedProcess process, String dn, LineConverter converter) {
    long limit =
        process instanceof TrackedProcess own
            ? own.spec().logLimit()
            : ProcessSpec.DEFAULT_LOG_LIMIT;
    return new LogTail(
        process.log(), files.tail(process.name()), limit, converter, line -> logs.append(dn, line));
  }

  @Override
  public void close() {
    tracked.values().forEach(TrackedProcess::close);
    tracked.clear();
  }
}
