package dev.polis.ctl.node;

import dev.polis.base.config.DidYouMean;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.common.LogFilter;
import dev.polis.wire.logtree.LeveledLogSeverity;
import dev.polis.wire.logtree.LogEntry;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Declares the options of a log request, and prints its entries. */
final class LogPrinter {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("MMdd HH:mm:ss.SSSSSS").withZone(ZoneId.systemDefault());

  /** The value of {@code --backlog} when it is not given. */
  private static final long ALL = -1;

  @Option(
      names = "--dn",
      paramLabel = "DN",
      description = "name in the supervision tree, such as root.consensus (default: everything)")
  String dn = "";

  @Option(names = "--exact", description = "only this name, without those below it")
  boolean exact;

  @Option(
      names = {"-f", "--follow"},
      description = "follow new entries until interrupted")
  boolean follow;

  @Option(
      names = {"-n", "--backlog"},
      paramLabel = "COUNT",
      description = "how many earlier entries to show (default: all)")
  long backlog = ALL;

  @Option(
      names = "--severity",
      paramLabel = "LEVEL",
      description = "leave out entries below INFO, WARNING, ERROR or FATAL, and all raw output")
  String severity = "";

  LogsRequest request(CommandLine line) {
    CtlOptions.requireAtLeast(ALL, backlog, "--backlog");
    LogsRequest.Builder request =
        LogsRequest.newBuilder()
            .setDn(dn)
            .setStreamMode(
                follow ? StreamMode.STREAM_MODE_UNBUFFERED : StreamMode.STREAM_MODE_DISABLE);
    if (backlog == ALL) {
      request.setBacklogMode(BacklogMode.BACKLOG_MODE_ALL);
    } else if (backlog == 0) {
      request.setBacklogMode(BacklogMode.BACKLOG_MODE_DISABLE);
    } else {
      request.setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT).setBacklogCount(backlog);
    }
    if (!exact) {
      request.addFilters(LogStream.WITH_CHILDREN);
    }
    if (!severity.isEmpty()) {
      request.addFilters(
          LogFilter.newBuilder()
              .setLeveledWithMinimumSeverity(
                  LogFilter.LeveledWithMinimumSeverity.newBuilder().setMinimum(minimum(line))));
    }
    return request.build();
  }

  private LeveledLogSeverity minimum(CommandLine line) {
    return WireName.find(LeveledLogSeverity.class, "LEVELED_LOG_SEVERITY_", severity)
        .orElseThrow(
            () ->
                new ParameterException(
                    line,
                    "--severity \"%s\" is none of INFO, WARNING, ERROR and FATAL"
                        .formatted(severity)));
  }

  /**
   * Prints a log until it ends, or until its output has no reader.
   *
   * @throws CtlException if the node has no log of the requested name
   */
  static ExitCode print(
      LogsRequest request,
      Function<LogsRequest, BlockingClientCall<?, LogsResponse>> opener,
      PrintWriter out)
      throws StatusException, InterruptedException {
    AtomicBoolean empty = new AtomicBoolean(true);
    new LogStream(opener, request)
        .read(
            response -> {
              if (response.getBacklogEntriesCount() + response.getStreamEntriesCount() > 0) {
                empty.set(false);
              }
              return print(response, out);
            });
    if (empty.get() && !request.getDn().isEmpty()) {
      requireName(request.getDn(), opener);
    }
    return ExitCode.OK;
  }

  private static void requireName(
      String dn, Function<LogsRequest, BlockingClientCall<?, LogsResponse>> opener)
      throws StatusException, InterruptedException {
    LogsRequest everything =
        LogsRequest.newBuilder()
            .setBacklogMode(BacklogMode.BACKLOG_MODE_ALL)
            .setStreamMode(StreamMode.STREAM_MODE_DISABLE)
            .addFilters(LogStream.WITH_CHILDREN)
            .build();
    Set<String> names = new TreeSet<>();
    new LogStream(opener, everything)
        .read(
            response -> {
              response.getBacklogEntriesList().forEach(entry -> addNames(names, entry.getDn()));
              return true;
            });
    if (!names.contains(dn)) {
      List<String> alike = names.stream().filter(name -> parts(name) <= parts(dn)).toList();
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "the node has no log \"%s\"%s".formatted(dn, DidYouMean.among(dn, alike)));
    }
  }

  /** Adds a name and the names above it. */
  private static void addNames(Set<String> names, String dn) {
    names.add(dn);
    for (int dot = dn.lastIndexOf('.'); dot > 0; dot = dn.lastIndexOf('.', dot - 1)) {
      names.add(dn.substring(0, dot));
    }
  }

  private static long parts(String dn) {
    return dn.chars().filter(letter -> letter == '.').count();
  }

  /** Prints a response; returns false if its reader has gone, such as the "head" of a pipe. */
  private static boolean print(LogsResponse response, PrintWriter out) {
    if (response.getGap()) {
      out.println("... entries missed: the node has dropped them");
    }
    response.getBacklogEntriesList().forEach(entry -> print(entry, out));
    if (response.getMissedEntries() > 0) {
      out.println(
          "... " + response.getMissedEntries() + " entries missed: this reader is too slow");
    }
    response.getStreamEntriesList().forEach(entry -> print(entry, out));
    return !out.checkError();
  }

  private static void print(LogEntry entry, PrintWriter out) {
    if (entry.hasRaw()) {
      out.printf("%-32s R %s%n", entry.getDn(), entry.getRaw().getData());
      return;
    }
    LogEntry.Leveled leveled = entry.getLeveled();
    String time =
        TIME.format(
            Instant.ofEpochSecond(
                leveled.getTimestamp().getSeconds(), leveled.getTimestamp().getNanos()));
    leveled
        .getLinesList()
        .forEach(
            line ->
                out.printf(
                    "%-32s %s%s %s] %s%n",
                    entry.getDn(),
                    WireName.shortened(leveled.getSeverity()).charAt(0),
                    time,
                    leveled.getLocation(),
                    line));
  }
}
