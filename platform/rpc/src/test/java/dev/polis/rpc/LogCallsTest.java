package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.UnknownFieldSet;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogStatistics;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.common.LogFilter;
import dev.polis.wire.logtree.LeveledLogSeverity;
import dev.polis.wire.logtree.LogEntry;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LogCallsTest {
  private static final LogFilter CHILDREN =
      LogFilter.newBuilder().setWithChildren(LogFilter.WithChildren.getDefaultInstance()).build();
  private static final LogFilter ONLY_RAW =
      LogFilter.newBuilder().setOnlyRaw(LogFilter.OnlyRaw.getDefaultInstance()).build();
  private static final LogFilter ONLY_LEVELED =
      LogFilter.newBuilder().setOnlyLeveled(LogFilter.OnlyLeveled.getDefaultInstance()).build();

  private RpcFixture fixture;
  private CallStreams streams;

  @BeforeEach
  void start() {
    fixture = new RpcFixture();
    streams = new CallStreams();
    LogCalls calls = new LogCalls(fixture.logs, streams, 16);
    fixture.host.serve(
        RpcHost.CURATOR,
        new NodeManagementGrpc.NodeManagementImplBase() {
          @Override
          public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
            calls.serve(request, caller);
          }
        });
  }

  @AfterEach
  void stop() {
    streams.close();
    fixture.close();
  }

  private static LogFilter atLeast(LeveledLogSeverity severity) {
    return LogFilter.newBuilder()
        .setLeveledWithMinimumSeverity(
            LogFilter.LeveledWithMinimumSeverity.newBuilder().setMinimum(severity))
        .build();
  }

  private static LogsRequest.Builder all(String dn, LogFilter... filters) {
    return LogsRequest.newBuilder()
        .setDn(dn)
        .addAllFilters(List.of(filters))
        .setBacklogMode(BacklogMode.BACKLOG_MODE_ALL)
        .setStreamMode(StreamMode.STREAM_MODE_DISABLE);
  }

  private List<String> backlog(LogsRequest.Builder request) {
    List<String> texts = new ArrayList<>();
    NodeManagementGrpc.newBlockingStub(fixture.asOwner())
        .logs(request.build())
        .forEachRemaining(
            chunk -> chunk.getBacklogEntriesList().forEach(entry -> texts.add(text(entry))));
    return texts;
  }

  private static String text(LogEntry entry) {
    return entry.hasRaw()
        ? entry.getRaw().getData()
        : String.join("\n", entry.getLeveled().getLinesList());
  }

  private void raw(String dn, byte[] bytes) throws IOException {
    try (OutputStream out = fixture.logs.raw(dn).stream()) {
      out.write(bytes);
    }
  }

  @Test
  @DisplayName("LOG-15 backlog: all, exactly one, none, with children")
  void log15_backlogs() {
    fixture.logs.log("main").info("first");
    fixture.logs.log("main").info("second");
    fixture.logs.log("main.child").info("third");
    fixture.logs.log("mainly").info("elsewhere");

    assertEquals(List.of("first", "second"), backlog(all("main")));
    assertEquals(
        List.of("second"),
        backlog(all("main").setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT).setBacklogCount(1)));
    assertEquals(List.of(), backlog(all("main").setBacklogMode(BacklogMode.BACKLOG_MODE_DISABLE)));
    assertEquals(
        List.of("second", "third"),
        backlog(
            all("main", CHILDREN)
                .setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT)
                .setBacklogCount(2)));
  }

  @Test
  @DisplayName("LOG-15 minimum severity, only raw, only leveled")
  void log15_filters() {
    fixture.logs.log("main").info("mild");
    fixture.logs.log("main").warning("unusual");
    fixture.logs.log("main").error("broken");
    fixture.logs.raw("main").line("foreign");

    assertEquals(
        List.of("unusual", "broken"),
        backlog(all("main", atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_WARNING))));
    assertEquals(List.of("foreign"), backlog(all("main", ONLY_RAW)));
    assertEquals(List.of("mild", "unusual", "broken"), backlog(all("main", ONLY_LEVELED)));
    assertEquals(
        List.of("broken"),
        backlog(
            all(
                "main",
                atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_ERROR),
                atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_WARNING),
                ONLY_LEVELED)));
  }

  @Test
  @DisplayName("LOG-15 D-23 invalid UTF-8 arrives as <INVALID>, in the backlog and in the stream")
  void log15_invalidUtf8() throws Exception {
    byte[] line = {'a', (byte) 0xc5, 'z', '\n'};
    raw("main", line);

    assertEquals(List.of("a<INVALID>z"), backlog(all("main")));

    Follower follower = follow(all("main"));
    follower.request(100);
    follower.await("the backlog", 1);
    raw("main", line);
    follower.await("the streamed line", 2);
    assertEquals(List.of("a<INVALID>z", "a<INVALID>z"), follower.texts());
    follower.cancel();
  }

  @Test
  @DisplayName("LOG-15 the stream delivers later entries, and only those that pass the filters")
  void log15_stream() throws Exception {
    fixture.logs.log("main").warning("before");
    Follower follower =
        follow(all("main", atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_WARNING)));
    follower.request(100);
    follower.await("the backlog", 1);

    fixture.logs.log("main").info("mild");
    fixture.logs.log("other").error("elsewhere");
    fixture.logs.log("main").error("after");

    follower.await("the streamed entry", 2);
    assertEquals(List.of("before", "after"), follower.texts());
    assertEquals(1, follower.stream.size());
    follower.cancel();
  }

  @Test
  @DisplayName("responses are small for any content of the log, and lose no entry")
  void chunks() {
    IntStream.range(0, 4500).forEach(i -> fixture.logs.log("many").info("%d", i));
    String fat = "x".repeat(1000) + "\n";
    IntStream.range(0, 40).forEach(i -> fixture.logs.log("fat").info("%s", fat.repeat(200)));

    List<LogsResponse> many = responses(all("many"));
    List<LogsResponse> large = responses(all("fat"));

    assertEquals(4500, many.stream().mapToInt(LogsResponse::getBacklogEntriesCount).sum());
    many.forEach(
        chunk ->
            assertTrue(
                chunk.getSerializedSize() <= 64 << 10, "chunk of " + chunk.getSerializedSize()));
    assertEquals(40, large.stream().mapToInt(LogsResponse::getBacklogEntriesCount).sum());
    assertTrue(large.size() > 1, "8 MB came in one message");
    large.forEach(
        chunk ->
            assertTrue(
                chunk.getSerializedSize() < 4 << 20, "chunk of " + chunk.getSerializedSize()));
  }

  @Test
  @DisplayName("readers beyond the limit are refused until one has ended")
  void readersAreBounded() throws Exception {
    fixture.logs.log("main").info("line");
    List<Follower> followers = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      Follower follower = follow(all("main"));
      follower.request(10);
      follower.await("the backlog", 1);
      followers.add(follower);
    }
    Status refused = RpcFixture.statusOf(() -> backlog(all("main")));
    assertEquals(Status.Code.UNAVAILABLE, refused.getCode());
    assertTrue(refused.getDescription().contains("16 readers"), refused::toString);
    followers.getFirst().cancel();
    Await.until(
        RpcFixture.PATIENCE,
        "room for another reader",
        () -> RpcFixture.statusOf(() -> backlog(all("main"))).isOk());
    followers.forEach(Follower::cancel);
  }

  private List<LogsResponse> responses(LogsRequest.Builder request) {
    List<LogsResponse> chunks = new ArrayList<>();
    NodeManagementGrpc.newBlockingStub(fixture.asOwner())
        .logs(request.build())
        .forEachRemaining(chunks::add);
    return chunks;
  }

  @Test
  @DisplayName("LOG-17 D-23 a slow caller gets the number and the place of missed entries")
  void log17_missedIsReported() throws Exception {
    Follower follower = follow(all("busy"));
    awaitFollowers(1);
    String wide = "w".repeat(900);
    int total = 6000;

    for (int i = 0; i < total; i++) {
      fixture.logs.log("busy").info("%d %s", i, wide);
    }
    follower.request(Integer.MAX_VALUE);
    follower.awaitTotal(total);
    fixture.logs.log("busy").info("the end");
    follower.awaitText("the end");

    assertTrue(follower.missed() > 0, "nothing was missed, so nothing was tested");
    assertEquals(total + 1, follower.received() + follower.missed());
    follower.cancel();
  }

  @Test
  @DisplayName("a stream of the whole log causes no entries itself")
  void noFeedback() throws Exception {
    fixture.logs.setVerbosity("rpc.curator", 9);
    Follower follower = follow(all("", CHILDREN));
    follower.request(Integer.MAX_VALUE);
    awaitFollowers(1);
    fixture.logs.log("main").info("once");
    follower.awaitText("once");
    long before = fixture.logs.statistics().appended();

    fixture.logs.log("main").info("twice");
    follower.awaitText("twice");

    assertEquals(before + 1, fixture.logs.statistics().appended());
    follower.cancel();
  }

  @Test
  @DisplayName("a caller that disconnects leaves no reader and no thread behind")
  void callersThatGoLeaveNothing() throws Exception {
    Follower follower = follow(all("main"));
    follower.request(1);
    awaitFollowers(1);

    follower.cancel();

    awaitFollowers(0);
    Await.until("the thread of the stream to end", () -> streams.open() == 0);
  }

  @Test
  @DisplayName("closed streams, and new ones, end with UNAVAILABLE and a time to retry after")
  void closedStreams() throws Exception {
    Follower follower = follow(all("main"));
    follower.request(1);
    awaitFollowers(1);

    streams.close();

    follower.awaitEnd();
    assertEquals(Status.Code.UNAVAILABLE, follower.status().getCode());
    assertEquals("1000", follower.retry());
    assertEquals(0, streams.open());
    Status later = refusal(all("main"));
    assertEquals(Status.Code.UNAVAILABLE, later.getCode());
  }

  @Test
  @DisplayName("a stream whose code throws ends only its own call, with a reference")
  void throwingBodies() {
    fixture.host.serve(
        RpcHost.MANAGEMENT,
        new NodeManagementGrpc.NodeManagementImplBase() {
          @Override
          public void logs(LogsRequest request, StreamObserver<LogsResponse> caller) {
            streams.serve(
                "failing",
                caller,
                sink -> {
                  throw new IllegalStateException("secret detail");
                });
          }
        });
    Status status =
        RpcFixture.statusOf(
            () ->
                NodeManagementGrpc.newBlockingStub(
                        fixture.channel(
                            RpcClients.authenticated(fixture.user("owner"), fixture.trust()),
                            RpcHost.MANAGEMENT))
                    .logs(LogsRequest.getDefaultInstance())
                    .hasNext());

    assertEquals(Status.Code.INTERNAL, status.getCode());
    assertTrue(status.getDescription().contains("reference"), status.toString());
    assertTrue(!status.getDescription().contains("secret"), status.toString());
    assertEquals(List.of(), backlog(all("nothing")));
  }

  private Status refusal(LogsRequest.Builder request) {
    return RpcFixture.statusOf(
        () -> NodeManagementGrpc.newBlockingStub(fixture.asOwner()).logs(request.build()).next());
  }

  private void assertInvalid(String word, LogsRequest.Builder request) {
    Status status = refusal(request);
    assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode(), status.toString());
    assertTrue(status.getDescription().contains(word), status.toString());
  }

  @Test
  @DisplayName("unknown modes are INVALID_ARGUMENT with the value, and never count as off")
  void unknownModes() {
    assertInvalid("stream_mode is 7", all("a").setStreamModeValue(7));
    assertInvalid("backlog_mode is 0", all("a").setBacklogModeValue(0));
    assertInvalid("backlog_mode is 9", all("a").setBacklogModeValue(9));
    assertInvalid(
        "backlog_count is -3",
        all("a").setBacklogMode(BacklogMode.BACKLOG_MODE_COUNT).setBacklogCount(-3));
    assertInvalid("a..b", all("a..b"));
  }

  /** Returns a filter of a newer client: field 99. */
  private static LogFilter ofALaterKind() {
    return LogFilter.newBuilder()
        .setUnknownFields(
            UnknownFieldSet.newBuilder()
                .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build())
        .build();
  }

  @Test
  @DisplayName(
      "LOG-15 a request with stream mode 0 and an empty filter is answered like one without them")
  void zeroValuesAreAsIfNotGiven() {
    fixture.logs.log("main").info("first");
    fixture.logs.log("main.child").info("second");
    LogFilter empty = LogFilter.getDefaultInstance();

    assertEquals(List.of("first"), backlog(all("main").setStreamModeValue(0)));
    assertEquals(List.of("first"), backlog(all("main", empty).setStreamModeValue(0)));
    assertEquals(List.of("first", "second"), backlog(all("main", empty, CHILDREN, empty)));
  }

  @Test
  @DisplayName("too many, unknown or contradictory filters are INVALID_ARGUMENT")
  void unusableFilters() {
    LogsRequest.Builder eleven = all("a");
    IntStream.range(0, 11).forEach(i -> eleven.addFilters(CHILDREN));
    LogsRequest.Builder ten = all("a");
    IntStream.range(0, 10).forEach(i -> ten.addFilters(CHILDREN));

    assertEquals(List.of(), backlog(ten));
    assertInvalid("11", eleven);
    assertInvalid("filters[1]", all("a", CHILDREN, ofALaterKind()));
    assertInvalid("contradict", all("a", ONLY_RAW, ONLY_LEVELED));
    assertInvalid(
        "contradict", all("a", atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_INFO), ONLY_RAW));
    assertInvalid("severity 0", all("a", atLeast(LeveledLogSeverity.LEVELED_LOG_SEVERITY_INVALID)));
  }

  private void awaitFollowers(int count) throws Exception {
    Await.until(count + " readers that follow", () -> fixture.logs.statistics().readers() == count);
  }

  @Test
  @DisplayName("the statistics of a log tree count journals, entries and readers")
  void statistics() {
    LogStatistics before = fixture.logs.statistics();
    fixture.logs.log("counted").info("one");
    fixture.logs.log("counted").info("two");

    LogStatistics after = fixture.logs.statistics();

    assertEquals(before.journals() + 1, after.journals());
    assertEquals(before.entries() + 2, after.entries());
    assertEquals(before.appended() + 2, after.appended());
    assertTrue(after.bytes() > before.bytes());
  }

  private Follower follow(LogsRequest.Builder request) {
    Follower follower = new Follower();
    NodeManagementGrpc.newStub(fixture.asOwner())
        .logs(request.setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED).build(), follower);
    return follower;
  }

  /** Reads as many messages as the test requests. */
  private static final class Follower implements ClientResponseObserver<LogsRequest, LogsResponse> {
    private final List<LogEntry> backlog = new CopyOnWriteArrayList<>();
    private final List<LogEntry> stream = java.util.Collections.synchronizedList(new ArrayList<>());
    private final AtomicReference<Throwable> end = new AtomicReference<>();
    private volatile long missed;
    private volatile ClientCallStreamObserver<LogsRequest> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<LogsRequest> requests) {
      call = requests;
      requests.disableAutoRequestWithInitial(0);
    }

    void request(int messages) {
      call.request(messages);
    }

    void cancel() {
      call.cancel("enough", null);
    }

    @Override
    public void onNext(LogsResponse chunk) {
      backlog.addAll(chunk.getBacklogEntriesList());
      stream.addAll(chunk.getStreamEntriesList());
      missed += chunk.getMissedEntries();
    }

    @Override
    public void onError(Throwable failure) {
      end.set(failure);
    }

    @Override
    public void onCompleted() {
      end.set(Status.OK.asRuntimeException());
    }

    long missed() {
      return missed;
    }

    long received() {
      return backlog.size() + stream.size();
    }

    List<String> texts() {
      List<String> texts = new ArrayList<>();
      backlog.forEach(entry -> texts.add(text(entry)));
      synchronized (stream) {
        stream.forEach(entry -> texts.add(text(entry)));
      }
      return texts;
    }

    Status status() {
      return Status.fromThrowable(end.get());
    }

    String retry() {
      return Status.trailersFromThrowable(end.get()).get(RpcException.RETRY_DELAY);
    }

    void await(String what, int entries) throws Exception {
      Await.until(what, () -> received() >= entries);
    }

    void awaitTotal(long entries) throws Exception {
      Await.until(entries + " entries or losses", () -> received() + missed >= entries);
    }

    void awaitText(String text) throws Exception {
      Await.until("\"" + text + "\" to arrive", () -> texts().contains(text));
    }

    void awaitEnd() throws Exception {
      Await.until("the end of the stream", () -> end.get() != null);
    }
  }
}
