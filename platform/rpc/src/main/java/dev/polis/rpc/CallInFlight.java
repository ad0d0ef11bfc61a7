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
   * What an open call takes beside its messages: 12 KiB at rest, and a page of what Netty sends.
   */
  private static final int OPEN_BYTES = 16 << 10;

  private final CallMethod method;
  private final CallRouter owner;
  private final int number = CallErrors.number();
  private final long started = System.nanoTime();
  private final AtomicBoolean recorded = new AtomicBoolean();
  private final Object state = new Object();
  private final CallConnection from;

  /** Whether the thread that reads the requests of its connection, and of others, handles it. */
  private final boolean here;

  /** Whether its requests were asked for already; written before the handler's thread begins. */
  private boolean ahead;

  /** Its place among those of strangers; null for a member's. */
  private StrangerRoom.Call place;

  /** The bytes of its requests; null until it has a place, or belongs to a member. */
  private RequestRoom.Requests requests;

  /** Requests that were asked for before there was a handler; for the thread that handles it. */
  private int early;

  // Guarded by state.
  private boolean closed;
  private boolean abandoned;
  private boolean answering; // whether a part of the answer was sent
  private int unasked; // requests that are asked for when the answers before are read
  private Thread runner; // null while no handler runs

  private volatile CallIdentity.Caller caller = CallIdentity.Caller.unknown();
  private volatile CallProvider provider; // null until one serves it
  private volatile Message request; // null until it has come
  private volatile String requestText; // null until a log needs it
  private volatile boolean announced; // whether the audit log has its beginning
  private volatile long auditTicket; // of its latest record; 0 while there is none to wait for
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

  /** Lets the call be ready when all of its answers were read, not when nearly all were. */
  private void readyWhenRead() {
    delegate().setOnReadyThreshold(1);
  }

  /** Creates a call that the calling thread handles, which reads others as well. */
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
   * Asks for the request on the thread that reads it, which the handler's would have to wake. A
   * second one is asked for as well: that it comes, where there is one only, is reported.
   */
  void readAhead() {
    if (method.oneRequest()) {
      delegate().request(2);
      ahead = true;
    }
  }

  /** Asks for the first request before there is a handler. */
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
   * Returns whether requests may be asked for now. A caller that talks and does not listen is not
   * heard further: each answer would wait in memory.
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
   * Gives the call of a stranger its place, until nothing of it is left. To be called on the thread
   * that reads its connection.
   */
  void takes(StrangerRoom.Call taken) {
    place = taken;
    requests = taken.requests();
    // So that it is known whether an answer is unread.
    readyWhenRead();
    RequestBytes.count(requests, this::leaveRoom);
  }

  /**
   * Counts the bytes that the call of a member takes, until nothing of it is left. To be called on
   * the thread that reads its connection.
   */
  void counts(RequestRoom.Requests counted) {
    requests = counted;
    RequestBytes.count(counted, this::leaveRoom);
    counted.takes(OPEN_BYTES);
  }

  /** Gives the room that it took to others. */
  private void leaveRoom() {
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

  /** Returns its number in logs; the text is made only for calls that are logged. */
  private String id() {
    return CallErrors.reference(number);
  }

  void identified(CallIdentity.Caller who) {
    caller = who;
  }

  /**
   * Adds the call to those of its provider. The caller keeps the router from changing who serves,
   * here and in {@link #leaveProvider}.
   */
  void enter(CallProvider by) {
    provider = by;
    by.calls.add(this);
  }

  /** Returns the provider that serves it; null until one does. */
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

  /** Passes the call to a handler. What it throws ends the call. */
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

  /** Ends the call because something failed on the way to its handler or in it. */
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
      abandoned = true;
      interruptRunner();
    }
    end(reason.status(), reason.trailers());
    Context.CancellableContext own = context;
    if (own != null) {
      own.cancel(reason);
    }
  }

  /**
   * Ends the call because others need its room. If a part of its answer is unread, its connection
   * ends: a status would wait behind the answer, and keep the room. Of a member's answer the last
   * 32 KiB may be unread without a sign.
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

  /** Ends a call that there is no room for. It is counted and not logged: it may be one of many. */
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

  /**
   * Counts and logs the call before its caller gets the status, so that what a caller knows of is
   * in the audit log.
   */
  private void end(Status status, Metadata trailers) {
    if (!closes()) {
      // It may have joined the others, or its provider, after it was ended from outside.
      owner.leave(this);
      return;
    }
    try {
      record(status);
      awaitAudit();
    } finally {
      tell(status, trailers);
    }
  }

  /** Marks the call as closed; returns false if it is. */
  private boolean closes() {
    synchronized (state) {
      boolean first = !closed;
      closed = true;
      return first;
    }
  }

  /**
   * Waits until the audit log has the call on the disk. It does not wait for a call that was ended
   * from outside, whose caller knows that its outcome is open.
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

  /** Returns whether its caller has got the status, or is about to. */
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

  /** Writes the beginning of a change to the audit log, which happens while its handler works. */
  private void announce() {
    if (!announced && CallAudit.announces(method.rule(), caller.peer())) {
      auditTicket = owner.log().audit().begin(id(), method.rule(), caller.peer(), said());
      announced = true;
    }
  }

  private void tell(Status status, Metadata trailers) {
    try {
      synchronized (state) {
        if (!delegate().isCancelled()) {
          delegate().close(StatusMessages.fit(status), trailers);
        }
      }
    } catch (IllegalStateException endedByItself) {
      // gRPC closes a call whose message it could not encode, and has sent the reason.
    } finally {
      owner.leave(this);
    }
  }

  @Override
  public void sendHeaders(Metadata headers) {
    synchronized (state) {
      if (!closed) {
        super.sendHeaders(headers);
      }
    }
  }

  @Override
  public void sendMessage(Object message) {
    synchronized (state) {
      if (closed || abandoned) {
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

  /** Counts a part of a member's answer; may end the call, or another one, so it holds no lock. */
  private void countAnswer(Object message) {
    if (requests != null && place == null && message instanceof Message sent) {
      requests.answers(sent.getSerializedSize());
      freeAnswers();
    }
  }

  /** Frees the room of the answers of a stream of which nearly all were read. */
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
      // An interrupt would reach the connections that this thread reads; nothing waits for one.
      return;
    }
    synchronized (state) {
      runner = Thread.currentThread();
    }
  }

  /** Interrupts a handler that runs although its caller has just left or got its status. */
  private void interruptIfOver(Context.CancellableContext own) {
    synchronized (state) {
      if (abandoned || own.isCancelled()) {
        interruptRunner();
      }
    }
  }

  /**
   * Marks the handler as not running. It also clears an interrupt that came too late, since the
   * thread runs other callbacks next.
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

  /** Ends the call because its caller has gone, before there was a handler. */
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

    private boolean over() {
      synchronized (state) {
        return closed;
      }
    }

    @Override
    public void onMessage(Object message) {
      if (over()) {
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
      // A handler has the only request of a call until that ends.
      if (requests != null && !method.oneRequest()) {
        requests.taken();
      }
    }

    @Override
    public void onHalfClose() {
      if (over() || own.isCancelled()) {
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
      boolean cut;
      synchronized (state) {
        cut = abandoned;
      }
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
      if (!over()) {
        freeAnswers();
        askAgain();
        run(() -> handler.onReady());
      }
    }
  }
}
