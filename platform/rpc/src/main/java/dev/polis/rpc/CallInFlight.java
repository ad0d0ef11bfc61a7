package dev.polis.rpc;

import com.google.protobuf.Message;
import io.grpc.Context;
import io.grpc.ForwardingServerCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Follows one call from its arrival to its end. It stands between the connection and the handler,
 * and may be ended from either side or from outside, once.
 *
 * <p>A handler's thread is interrupted when its caller has gone or the call was ended from outside,
 * so that a handler may simply wait for what it needs.
 */
final class CallInFlight extends ForwardingServerCall.SimpleForwardingServerCall<Object, Object> {
  /**
   * The bytes of an open call besides its messages: 12 KiB at rest, and a page that Netty sends.
   */
  private static final int OPEN_BYTES = 16 << 10;

  private final CallMethod method;
  private final CallRouter owner;
  private final int number = CallErrors.number();
  private final long started = System.nanoTime();
  private final AtomicBoolean recorded = new AtomicBoolean();
  private final Object state = new Object();
  private final CallConnection from;

  /**
   * True if the handler runs on the thread that reads the requests of this and of other
   * connections.
   */
  private final boolean here;

  /**
   * True if {@link #readAhead} has requested all messages; written before the handler's thread
   * begins.
   */
  private boolean ahead;

  /** The place of this call in the room of strangers; null for a member's call. */
  private StrangerRoom.Call place;

  /** The bytes of the call's requests; null until the call has a place or belongs to a member. */
  private RequestRoom.Requests requests;

  /**
   * The number of requests that were asked for before the handler began; for the handler's thread.
   */
  private int early;

  // Guarded by state.
  private boolean closed;
  private boolean abandoned;
  private boolean over; // true once gRPC has ended the stream, perhaps with a status of its own
  private boolean answering; // true once a part of the answer was sent
  private int unasked; // requests to ask for when the caller has read the earlier answers
  private Thread runner; // null while no handler runs

  private volatile CallIdentity.Caller caller = CallIdentity.Caller.unknown();
  private volatile CallProvider provider; // null until a provider serves the call
  private volatile Message request; // null until the request has arrived
  private volatile String requestText; // null until a log needs it
  private volatile boolean announced; // true once the audit log has the call's BEGIN record
  private volatile long auditTicket; // ticket of the latest audit record; 0: no record to wait for
  private volatile Context.CancellableContext context; // null until the handler has it

  /** Creates a call; to be called by the thread that serves its connection. */
  CallInFlight(ServerCall<Object, Object> connection, CallMethod method, CallRouter owner) {
    this(connection, method, owner, false);
  }

  private CallInFlight(
      ServerCall<Object, Object> connection, CallMethod method, CallRouter owner, boolean here) {
    super(connection);
    this.method = method;
    this.owner = owner;
    this.here = here;
    this.from = owner.connection(connection);
    method.counters().started();
    if (method.talks()) {
      readyWhenRead();
    }
  }

  /** Makes the call ready only when its caller has read all answers, not when a few are left. */
  private void readyWhenRead() {
    delegate().setOnReadyThreshold(1);
  }

  /** Creates a call that runs on the calling thread, which also reads other calls. */
  static CallInFlight here(
      ServerCall<Object, Object> connection,
      CallMethod method,
      CallIdentity.Caller caller,
      CallRouter owner) {
    CallInFlight call = new CallInFlight(connection, method, owner, true);
    call.caller = caller;
    return call;
  }

  /**
   * Asks for the request on the reading thread; the handler's thread would have to wake it. It asks
   * for a second request as well, so that gRPC reports a caller that sends two.
   */
  void readAhead() {
    if (method.oneRequest()) {
      delegate().request(2);
      ahead = true;
    }
  }

  /** Asks for the first request before the handler begins. */
  void requestFirst() {
    super.request(1);
    early = 1;
  }

  @Override
  public void request(int messages) {
    int more = messages - early;
    early = 0;
    if (!ahead && more > 0 && mayAsk(more)) {
      super.request(more);
    }
  }

  /**
   * Returns whether requests may be asked for now. The node stops reading from a caller that sends
   * requests and does not read the answers, since each answer would wait in memory.
   */
  private boolean mayAsk(int more) {
    synchronized (state) {
      boolean may = !method.talks() || super.isReady();
      unasked += may ? 0 : more;
      return may;
    }
  }

  private void askAgain() {
    int more;
    synchronized (state) {
      more = unasked;
      unasked = 0;
    }
    if (more > 0) {
      delegate().request(more);
    }
  }

  /**
   * Gives a stranger's call its place, until the call leaves no trace in memory. To be called on
   * the thread that reads its connection.
   */
  void takes(StrangerRoom.Call taken) {
    place = taken;
    requests = taken.requests();
    // A later isReady() then tells whether an answer is unread.
    readyWhenRead();
    RequestBytes.count(requests, this::leaveRoom);
  }

  /**
   * Counts the bytes of a member's call, until the call leaves no trace in memory. To be called on
   * the thread that reads its connection.
   */
  void counts(RequestRoom.Requests counted) {
    requests = counted;
    RequestBytes.count(counted, this::leaveRoom);
    counted.takes(OPEN_BYTES);
  }

  /**
   * Gives the room of this call to others. gRPC calls it on the thread that reads the connection,
   * before it sends a status of its own, such as for a request that is too large. A second status
   * or a first answer would make gRPC end the connection with all of its calls.
   */
  private void leaveRoom() {
    synchronized (state) {
      over = true;
    }
    if (requests != null) {
      requests.over();
    }
    if (place != null) {
      place.over();
    }
  }

  CallMethod method() {
    return method;
  }

  /** Returns the call's number in logs; makes the text only for calls that are logged. */
  private String id() {
    return CallErrors.reference(number);
  }

  void identified(CallIdentity.Caller who) {
    caller = who;
  }

  /**
   * Adds the call to the calls of its provider. The caller holds the router's lock here and in
   * {@link #leaveProvider}, so that the provider does not change meanwhile.
   */
  void enter(CallProvider by) {
    provider = by;
    by.calls.add(this);
  }

  /** Returns the provider of this call; null until it has one. */
  CallProvider provider() {
    return provider;
  }

  void leaveProvider() {
    if (provider != null) {
      provider.calls.remove(this);
    }
  }

  CallIdentity.Caller caller() {
    return caller;
  }

  /** Returns whether the calling thread runs this call's handler. */
  boolean runsHere() {
    synchronized (state) {
      return runner == Thread.currentThread();
    }
  }

  /** Passes the call to a handler. An exception of the handler ends the call. */
  ServerCall.Listener<Object> begin(ServerCallHandler<Object, Object> handler, Metadata headers) {
    Context.CancellableContext own =
        Context.current()
            .withValues(
                RpcPeer.KEY,
                caller.peer(),
                RpcSpan.KEY,
                RpcSpan.of(number, owner.log().listener()),
                CallConnection.KEY,
                from)
            .withCancellation();
    context = own;
    if (!here) {
      own.addListener(gone -> interrupt(), Runnable::run);
    }
    Listening listening = new Listening(own);
    listening.work(() -> listening.handler = handler.startCall(this, headers));
    return listening;
  }

  /** Ends the call because its handler failed, or a step before the handler. */
  void fail(Throwable failure) {
    CallErrors.Told told = CallErrors.of(failure, id(), method.name(), owner.log().listener());
    end(told.status(), told.trailers());
  }

  /**
   * Ends the call from outside: sends the reason to the caller and interrupts the handler's thread.
   */
  void abandon(RpcException reason) {
    synchronized (state) {
      if (closed) {
        return;
      }
      // The interrupted handler may fail before this thread sends the reason.
      closed = true;
      abandoned = true;
      interruptRunner();
    }
    finish(reason.status(), reason.trailers());
    Context.CancellableContext own = context;
    if (own != null) {
      own.cancel(reason);
    }
  }

  /**
   * Ends the call because others need its room. If a part of its answer is unread, its connection
   * ends: a status would wait behind the answer, and keep the room. gRPC does not show whether a
   * member has read the last 32 KiB of an answer.
   */
  void giveWay(RpcException reason) {
    boolean unread;
    synchronized (state) {
      unread = closed || answering && (place == null || !super.isReady());
    }
    if (unread) {
      delegate().getAttributes().get(ConnectionGate.Pass.KEY).close();
    }
    abandon(reason);
  }

  /**
   * Ends a call because the room is full. The call is counted but not logged, since it may be one
   * of many.
   */
  void turnAway(RpcException full) {
    synchronized (state) {
      closed = true;
    }
    method.counters().finished(full.code(), Duration.ZERO);
    delegate().close(StatusMessages.fit(full.status()), full.trailers());
  }

  @Override
  public void close(Status status, Metadata trailers) {
    if (status.isOk()) {
      end(status, trailers);
      return;
    }
    CallErrors.Told told =
        CallErrors.of(status, trailers, id(), method.name(), owner.log().listener());
    end(told.status(), told.trailers());
  }

  private void end(Status status, Metadata trailers) {
    if (closes()) {
      finish(status, trailers);
    } else {
      // The call may have joined the router, or its provider, after it was ended from outside.
      owner.leave(this);
    }
  }

  /**
   * Counts and logs the closed call before its caller gets the status. So the audit log has each
   * outcome that a caller knows.
   */
  private void finish(Status status, Metadata trailers) {
    try {
      record(status);
      awaitAudit();
    } finally {
      tell(status, trailers);
    }
  }

  /** Marks the call as closed; returns false if it was closed before. */
  private boolean closes() {
    synchronized (state) {
      boolean first = !closed;
      closed = true;
      return first;
    }
  }

  /**
   * Waits until the audit log has the call on the disk. It does not wait if the call was ended from
   * outside: that caller knows that the outcome is open.
   */
  private void awaitAudit() {
    if (isAbandoned()) {
      return;
    }
    try {
      owner.log().audit().await(auditTicket);
    } catch (InterruptedException e) {
      // The caller has gone, or the handler is being ended; the record is written nevertheless.
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether the caller has got the status, or is about to get it. */
  boolean isClosed() {
    synchronized (state) {
      return closed;
    }
  }

  private boolean isAbandoned() {
    synchronized (state) {
      return abandoned;
    }
  }

  /** Writes the BEGIN record of a change to the audit log while the handler works. */
  private void announce() {
    if (!announced && CallAudit.announces(method.rule(), caller.peer())) {
      auditTicket = owner.log().audit().begin(id(), method.rule(), caller.peer(), said());
      announced = true;
    }
  }

  private void tell(Status status, Metadata trailers) {
    try {
      synchronized (state) {
        if (!over && !delegate().isCancelled()) {
          delegate().close(StatusMessages.fit(status), trailers);
        }
      }
    } catch (IllegalStateException endedByItself) {
      // gRPC itself closes a call if it cannot encode the message, and has sent the reason.
    } finally {
      owner.leave(this);
    }
  }

  @Override
  public void sendHeaders(Metadata headers) {
    synchronized (state) {
      if (!closed && !over) {
        super.sendHeaders(headers);
      }
    }
  }

  @Override
  public void sendMessage(Object message) {
    synchronized (state) {
      if (closed || over) {
        return;
      }
      answering = true;
      super.sendMessage(message);
    }
    countAnswer(message);
    if (owner.log().verbose() && message instanceof Message sent) {
      owner.log().sent(id(), method.name(), sent);
    }
  }

  @Override
  public boolean isReady() {
    synchronized (state) {
      return !closed && super.isReady();
    }
  }

  /** Counts a part of a member's answer; holds no lock, since it may end this or another call. */
  private void countAnswer(Object message) {
    if (requests != null && place == null && message instanceof Message sent) {
      requests.answers(sent.getSerializedSize());
      freeAnswers();
    }
  }

  /** Frees the bytes of a stream's answers when the caller has read nearly all of them. */
  private void freeAnswers() {
    if (requests != null && !method.oneAnswer() && delegate().isReady()) {
      requests.answersRead();
    }
  }

  @Override
  public boolean isCancelled() {
    synchronized (state) {
      return abandoned || super.isCancelled();
    }
  }

  @Override
  public MethodDescriptor<Object, Object> getMethodDescriptor() {
    return method.descriptor();
  }

  private void interrupt() {
    synchronized (state) {
      if (!closed) {
        interruptRunner();
      }
    }
  }

  private void interruptRunner() {
    if (runner != null) {
      runner.interrupt();
    }
  }

  private void entered() {
    if (here) {
      // An interrupt would disturb the other connections of this thread, and this handler never
      // waits.
      return;
    }
    synchronized (state) {
      runner = Thread.currentThread();
    }
  }

  /** Interrupts a handler whose caller has just left or got its status. */
  private void interruptIfOver(Context.CancellableContext own) {
    synchronized (state) {
      if (abandoned || own.isCancelled()) {
        interruptRunner();
      }
    }
  }

  /**
   * Marks the handler as not running. It also clears a late interrupt, since the thread runs other
   * callbacks next.
   */
  private void left() {
    if (here) {
      return;
    }
    synchronized (state) {
      runner = null;
      Thread.interrupted();
    }
  }

  private void record(Status status) {
    if (!recorded.compareAndSet(false, true)) {
      return;
    }
    Duration time = Duration.ofNanos(System.nanoTime() - started);
    method.counters().finished(status.getCode(), time);
    if (owner.log().records(method.rule(), caller.peer(), status)) {
      long ticket =
          owner
              .log()
              .finished(
                  id(),
                  method.rule(),
                  caller.peer(),
                  announced,
                  said(),
                  status,
                  time,
                  delegate().getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
      auditTicket = Math.max(auditTicket, ticket);
    }
  }

  /** Ends the call because its caller left before the handler began. */
  void goneBeforeItBegan() {
    gone(Context.current());
  }

  private void gone(Context of) {
    synchronized (state) {
      closed = true;
    }
    boolean late = of.getDeadline() != null && of.getDeadline().isExpired();
    record(
        late
            ? Status.DEADLINE_EXCEEDED.withDescription("the caller's deadline passed")
            : Status.CANCELLED.withDescription("the caller went away"));
    owner.leave(this);
  }

  private String said() {
    Message known = request;
    if (known == null) {
      return "no request";
    }
    String text = requestText;
    if (text == null) {
      text = RedactedText.of(known);
      requestText = text;
    }
    return text;
  }

  /** Passes the events of the connection to the handler. */
  private final class Listening extends ServerCall.Listener<Object> {
    private final Context.CancellableContext own;
    private ServerCall.Listener<Object> handler = new ServerCall.Listener<>() {};
    private boolean asked;

    Listening(Context.CancellableContext own) {
      this.own = own;
    }

    void run(Runnable callback) {
      Context previous = own.attach();
      entered();
      try {
        callback.run();
      } catch (Throwable failure) {
        // Any failure ends this call alone.
        fail(failure);
      } finally {
        left();
        own.detach(previous);
      }
    }

    /** Runs a callback in which the handler may wait. */
    void work(Runnable callback) {
      run(
          () -> {
            interruptIfOver(own);
            callback.run();
          });
    }

    @Override
    public void onMessage(Object message) {
      if (isClosed()) {
        return;
      }
      work(
          () -> {
            if (message instanceof CallMethod.Malformed malformed) {
              throw new RpcException(malformed.code(), malformed.reason());
            }
            asked = true;
            method.requireKnownFields(message);
            if (request == null && message instanceof Message readable) {
              request = readable;
              announce();
            }
            handler.onMessage(message);
          });
      // A handler keeps the only request of a call until the call ends.
      if (requests != null && !method.oneRequest()) {
        requests.taken();
      }
    }

    @Override
    public void onHalfClose() {
      if (isClosed() || own.isCancelled()) {
        return;
      }
      work(
          () -> {
            if (!asked && method.oneRequest()) {
              throw RpcException.invalid("this method takes one request, none came");
            }
            handler.onHalfClose();
          });
    }

    @Override
    public void onCancel() {
      run(() -> handler.onCancel());
      gone(own);
      own.cancel(null);
    }

    @Override
    public void onComplete() {
      boolean cut = isAbandoned();
      run(
          () -> {
            if (cut) {
              handler.onCancel();
            } else {
              handler.onComplete();
            }
          });
      own.cancel(null);
    }

    @Override
    public void onReady() {
      if (!isClosed()) {
        freeAnswers();
        askAgain();
        run(() -> handler.onReady());
      }
    }
  }
}
