package dev.polis.logtree.component;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogLimits;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogStatistics;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.RawLog;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SortedSet;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.metatype.annotations.Designate;

/** Provides the one log tree of a framework as a service. */
@Component(service = LogTree.class, configurationPid = "dev.polis.logtree")
@Designate(ocd = LogTreeConfiguration.class)
public final class LogTreeComponent implements LogTree {
  private final LogTree tree;
  private final Deque<Runnable> connected = new ArrayDeque<>();

  /** Creates the tree and connects the configured sources and outputs. */
  @Activate
  public LogTreeComponent(LogTreeConfiguration configuration) {
    ConsoleFilter filter = ConsoleFilter.parse(List.of(configuration.console()));
    tree =
        LogTree.create(
            new LogLimits(
                configuration.entries_per_journal(),
                (long) configuration.mebibytes() << 20,
                Duration.ofMinutes(configuration.minutes_to_live())));
    PrintStream terminal = System.out;
    connected.push(JulCapture.install(tree)::close);
    if (configuration.capture_standard_streams()) {
      connected.push(StreamCapture.install(tree)::close);
    }
    if (!configuration.kernel().isEmpty()) {
      captureKernel(Path.of(configuration.kernel()));
    }
    if (!filter.isEmpty()) {
      // Started last, with the original stream: the tree must not log its own output again.
      connected.push(
          ConsoleSink.start(tree, filter, configuration.console_columns(), terminal)::close);
    }
  }

  private void captureKernel(Path device) {
    try {
      // On Linux the JVM's clock counts from the start of the machine, as that of the kernel's log.
      connected.push(KernelCapture.start(tree, device, System::nanoTime)::close);
    } catch (IOException e) {
      tree.log(KernelCapture.DN)
          .warning("the messages of the kernel are not logged: %s cannot be opened: %s", device, e);
    }
  }

  @Deactivate
  void deactivate() {
    while (!connected.isEmpty()) {
      connected.pop().run();
    }
  }

  @Override
  public Log log(String dn) {
    return tree.log(dn);
  }

  @Override
  public RawLog raw(String dn) {
    return tree.raw(dn);
  }

  @Override
  public void append(String dn, LogPayload payload) {
    tree.append(dn, payload);
  }

  @Override
  public LogReader read(LogQuery query) {
    return tree.read(query);
  }

  @Override
  public List<LogEntry> newest(LogQuery query, long bytes) {
    return tree.newest(query, bytes);
  }

  @Override
  public void setVerbosity(String dn, int level) {
    tree.setVerbosity(dn, level);
  }

  @Override
  public SortedSet<String> names() {
    return tree.names();
  }

  @Override
  public LogStatistics statistics() {
    return tree.statistics();
  }
}
