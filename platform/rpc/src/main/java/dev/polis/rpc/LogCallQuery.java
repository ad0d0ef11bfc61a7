package dev.polis.rpc;

import dev.polis.logtree.LogQuery;
import dev.polis.logtree.Severity;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.common.LogFilter;

/**
 * Turns a request for logs into a query of the log tree. A stream mode or a filter with the zero
 * value counts as not given; another unknown value is refused.
 */
final class LogCallQuery {
  private boolean children;
  private boolean raw;
  private boolean leveled;
  private Severity minimum; // null: any severity

  private LogCallQuery() {}

  /**
   * Returns the query that a request asks for.
   *
   * @throws RpcException INVALID_ARGUMENT naming the field, its value, and the allowed ones
   */
  static LogQuery of(LogsRequest request) {
    int backlog = backlog(request);
    boolean follow = follow(request);
    LogCallQuery filters = new LogCallQuery();
    filters.readAll(request);
    LogQuery query = filters.apply(named(request.getDn()).backlog(backlog).after(after(request)));
    return follow ? query.follow() : query;
  }

  private static LogQuery named(String dn) {
    try {
      return LogQuery.of(dn);
    } catch (IllegalArgumentException e) {
      throw RpcException.invalid("dn: " + e.getMessage());
    }
  }

  private static int backlog(LogsRequest request) {
    return switch (request.getBacklogMode()) {
      case BACKLOG_MODE_DISABLE -> 0;
      case BACKLOG_MODE_ALL -> LogQuery.ALL;
      case BACKLOG_MODE_COUNT -> count(request.getBacklogCount());
      case BACKLOG_MODE_INVALID, UNRECOGNIZED ->
          throw RpcException.invalid(
              "backlog_mode is %d, which is no mode; set DISABLE (1), ALL (2) or COUNT (3)"
                  .formatted(request.getBacklogModeValue()));
    };
  }

  private static int count(long count) {
    if (count < 1) {
      throw RpcException.invalid(
          "backlog_count is %d; with backlog_mode COUNT it must be 1 or more".formatted(count));
    }
    // No journal has more entries than an int can count, so a larger count asks for all.
    return (int) Math.min(count, LogQuery.ALL);
  }

  private static long after(LogsRequest request) {
    if (request.getAfter() < 0) {
      throw RpcException.invalid(
          "after is %s, which no node gives; send the position of a response"
              .formatted(Long.toUnsignedString(request.getAfter())));
    }
    return request.getAfter();
  }

  private static boolean follow(LogsRequest request) {
    return switch (request.getStreamMode()) {
      case STREAM_MODE_DISABLE, STREAM_MODE_INVALID -> false;
      case STREAM_MODE_UNBUFFERED -> true;
      case UNRECOGNIZED ->
          throw RpcException.invalid(
              "stream_mode is %d, which is no mode; set DISABLE (1) or UNBUFFERED (2)"
                  .formatted(request.getStreamModeValue()));
    };
  }

  private void readAll(LogsRequest request) {
    if (request.getFiltersCount() > LogCalls.MAX_FILTERS) {
      throw RpcException.invalid(
          "filters has %d elements, at most %d are taken"
              .formatted(request.getFiltersCount(), LogCalls.MAX_FILTERS));
    }
    for (int i = 0; i < request.getFiltersCount(); i++) {
      read(i, request.getFilters(i));
    }
    if (raw && leveled) {
      throw RpcException.invalid(
          "filters only_raw and only_leveled contradict each other: nothing passes both; send one");
    }
    if (raw && minimum != null) {
      throw RpcException.invalid(
          "filters only_raw and leveled_with_minimum_severity (%s) contradict each other: raw lines have no severity; send one"
              .formatted(minimum));
    }
  }

  private void read(int index, LogFilter filter) {
    switch (filter.getFilterCase()) {
      case WITH_CHILDREN -> children = true;
      case ONLY_RAW -> raw = true;
      case ONLY_LEVELED -> leveled = true;
      case LEVELED_WITH_MINIMUM_SEVERITY -> require(severity(index, filter));
      case FILTER_NOT_SET -> requireEmpty(index, filter);
    }
  }

  /**
   * Refuses a filter of an unknown kind, without which the caller would get entries that it
   * excluded.
   */
  private static void requireEmpty(int index, LogFilter filter) {
    if (!filter.getUnknownFields().asMap().isEmpty()) {
      throw RpcException.invalid(
          "filters[%d] is of a kind that this node does not know (field %s)"
              .formatted(index, filter.getUnknownFields().asMap().keySet()));
    }
  }

  private static Severity severity(int index, LogFilter filter) {
    var wanted = filter.getLeveledWithMinimumSeverity();
    return switch (wanted.getMinimum()) {
      case LEVELED_LOG_SEVERITY_INFO -> Severity.INFO;
      case LEVELED_LOG_SEVERITY_WARNING -> Severity.WARNING;
      case LEVELED_LOG_SEVERITY_ERROR -> Severity.ERROR;
      case LEVELED_LOG_SEVERITY_FATAL -> Severity.FATAL;
      case LEVELED_LOG_SEVERITY_INVALID, UNRECOGNIZED ->
          throw RpcException.invalid(
              "filters[%d] has the minimum severity %d, which is none; set INFO (1), WARNING (2), ERROR (3) or FATAL (4)"
                  .formatted(index, wanted.getMinimumValue()));
    };
  }

  /** Raises the smallest severity; all filters apply, so the strictest one counts. */
  private void require(Severity severity) {
    if (minimum == null || !minimum.atLeast(severity)) {
      minimum = severity;
    }
  }

  private LogQuery apply(LogQuery plain) {
    LogQuery query = children ? plain.withChildren() : plain;
    if (raw) {
      return query.rawOnly();
    }
    if (minimum != null) {
      return query.minimumSeverity(minimum);
    }
    return leveled ? query.leveledOnly() : query;
  }
}
