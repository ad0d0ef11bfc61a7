package dev.polis.process.component;

import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.process.ProcessSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.Designate;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Wires the process manager. Its deactivation leaves the processes running. */
@Component(
    service = ProcessManager.class,
    configurationPid = "dev.polis.process",
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = ProcessComponent.Config.class)
public final class ProcessComponent implements ProcessManager {
  /** Declares the component's configuration. */
  @ObjectClassDefinition(id = "dev.polis.process", name = "Child processes")
  public @interface Config {
    /** Directory of process records and logs, such as ROOT/ephemeral/processes. */
    @AttributeDefinition(description = "Directory of process records and logs")
    String records();
  }

  private final OpenManager processes;

  /**
   * Opens the manager.
   *
   * @param logs receives the processes' logs
   * @param config the directory of the records
   */
  @Activate
  public ProcessComponent(@Reference LogTree logs, Config config) {
    processes = ProcessManager.open(Path.of(config.records()), logs);
  }

  @Override
  public ManagedProcess ensure(ProcessSpec spec) throws InterruptedException {
    return processes.ensure(spec);
  }

  @Override
  public Optional<ManagedProcess> find(String name) {
    return processes.find(name);
  }

  @Override
  public boolean lives(String name) throws InterruptedException {
    return processes.lives(name);
  }

  @Override
  public Path log(String name) {
    return processes.log(name);
  }

  @Override
  public List<ProcessRecord> records() {
    return processes.records();
  }

  @Override
  public List<String> restoreRecords() throws InterruptedException {
    return processes.restoreRecords();
  }

  @Override
  public void stop(String name) throws InterruptedException {
    processes.stop(name);
  }

  @Override
  public LogTail tail(ManagedProcess process, String dn, LineConverter converter) {
    return processes.tail(process, dn, converter);
  }

  /** Ends the watch; the processes continue. */
  @Deactivate
  public void close() {
    processes.close();
  }
}
