package dev.polis.ctl.console;

import dev.polis.ctl.node.LogStream;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogFormat;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.health.ExplainRequest;
import dev.polis.wire.health.GetHealthRequest;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Asks the debug service of a node. Each question has a session of its own, because the node may
 * start again at another address.
 */
final class ConsoleDebug implements ConsoleNode {

  /** A node that is well answers within milliseconds; a page that stands still looks dead. */
  private static final int PATIENCE = 3;

  /** More lines than a screen has. */
  private static final int BACKLOG = 200;

  private final CtlOptions options;

  ConsoleDebug(CtlOptions options) {
    this.options = options;
  }

  @Override
  public String name() {
    try {
      return options.target().node().map(NodeId::toString).orElse("not a member of a cluster yet");
    } catch (CtlException e) {
      return "no node yet";
    }
  }

  @Override
  public String address() {
    try {
      return options.target().endpoint();
    } catch (CtlException e) {
      return "no address yet";
    }
  }

  @Override
  public ConsoleFacts facts() throws InterruptedException {
    ExplainRequest node = ExplainRequest.newBuilder().setName("node").build();
    try (Session session = Session.open(options);
        Session hurried = session.beside(PATIENCE)) {
      return new ConsoleFacts.Answer(
          hurried.call(() -> hurried.debug().explain(node)),
          hurried.call(() -> hurried.debug().getHealth(GetHealthRequest.getDefaultInstance())));
    } catch (CtlException e) {
      return new ConsoleFacts.Silence(e.getMessage());
    }
  }

  @Override
  public String follow(String part, Predicate<LogEntry> reader) throws InterruptedException {
    LogsRequest request =
        LogsRequest.newBuilder()
            .setDn(part)
            .setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT)
            .setBacklogCount(BACKLOG)
            .setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED)
            .addFilters(LogStream.WITH_CHILDREN)
            .build();
    try (Session session = Session.open(options)) {
      return session.stream(
          () -> {
            new LogStream(session.nodeDebug()::logs, request)
                .read(
                    response ->
                        Stream.of(response.getBacklogEntriesList(), response.getStreamEntriesList())
                            .flatMap(List::stream)
                            .map(ConsoleDebug::entry)
                            .allMatch(reader));
            return "the log has ended";
          });
    } catch (CtlException e) {
      return e.getMessage();
    }
  }

  private static LogEntry entry(dev.polis.wire.logtree.LogEntry wire) {
    if (wire.hasRaw()) {
      return new LogEntry(
          wire.getDn(), 0, LogPayload.Raw.of(LogFormat.printable(wire.getRaw().getData())));
    }
    var leveled = wire.getLeveled();
    Severity severity =
        Stream.of(Severity.values())
            .filter(each -> each.name().equals(WireName.shortened(leveled.getSeverity())))
            .findFirst()
            .orElse(Severity.INFO);
    Instant time =
        Instant.ofEpochSecond(
            leveled.getTimestamp().getSeconds(), leveled.getTimestamp().getNanos());
    return new LogEntry(
        wire.getDn(),
        0,
        new LogPayload.Leveled(leveled.getLinesList(), time, severity, leveled.getLocation()));
  }
}
