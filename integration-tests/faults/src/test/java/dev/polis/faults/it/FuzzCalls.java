package dev.polis.faults.it;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.random.RandomGenerator;

/** Makes many calls at a time and keeps count of how they end. */
final class FuzzCalls {

  /** Enough to keep both sides busy; each connection may have 256. */
  private static final int AT_A_TIME = 96;

  /** A unary call without an answer for this long hangs. */
  private static final int UNARY_SECONDS = 120;

  private static final int STREAM_MILLISECONDS = 300;

  private static final int EXAMPLE_BYTES = 96;

  /** What a caller is never told: it means that nobody foresaw the call. */
  private static final Set<Status.Code> DEFECTS =
      Set.of(Status.Code.INTERNAL, Status.Code.UNKNOWN, Status.Code.DATA_LOSS);

  private final Semaphore free = new Semaphore(AT_A_TIME);
  private final Map<Status.Code, LongAdder> ends = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> reached = new ConcurrentHashMap<>();
  private final Map<String, String> offenders = new ConcurrentHashMap<>();
  private final RandomGenerator random;

  FuzzCalls(RandomGenerator random) {
    this.random = random;
  }

  /** Starts a call in a random manner; waits only if too many are under way. */
  void call(ManagedChannel channel, FuzzMethod method, List<byte[]> messages)
      throws InterruptedException {
    free.acquire();
    boolean impatient = random.nextInt(50) == 0;
    CallOptions options =
        impatient
            ? CallOptions.DEFAULT.withDeadlineAfter(1 + random.nextInt(20), TimeUnit.MILLISECONDS)
            : method.unary()
                ? CallOptions.DEFAULT.withDeadlineAfter(UNARY_SECONDS, TimeUnit.SECONDS)
                : CallOptions.DEFAULT.withDeadlineAfter(STREAM_MILLISECONDS, TimeUnit.MILLISECONDS);
    ClientCall<byte[], byte[]> call = channel.newCall(method.call(), options);
    call.start(new End(call, method, messages, method.unary() && !impatient), new Metadata());
    call.request(1);
    messages.forEach(call::sendMessage);
    if (random.nextInt(40) == 0) {
      call.cancel("the fuzzer changed its mind", null);
    } else if (method.unary() || random.nextInt(4) != 0) {
      call.halfClose();
    }
  }

  /** Waits until no call is under way. */
  void settle() throws InterruptedException {
    free.acquire(AT_A_TIME);
    free.release(AT_A_TIME);
  }

  /** How many calls ended, by code. */
  Map<Status.Code, LongAdder> ends() {
    return new TreeMap<>(ends);
  }

  /** How many calls of a method got past authorization and the decoder. */
  Map<String, LongAdder> reached() {
    return new TreeMap<>(reached);
  }

  /** Calls that ended as none may, an example for each kind. */
  Map<String, String> offenders() {
    return new TreeMap<>(offenders);
  }

  private static String example(List<byte[]> messages) {
    return messages.stream()
        .map(
            message ->
                "%d bytes %s"
                    .formatted(
                        message.length,
                        HexFormat.of()
                            .formatHex(
                                Arrays.copyOf(message, Math.min(message.length, EXAMPLE_BYTES)))))
        .toList()
        .toString();
  }

  private final class End extends ClientCall.Listener<byte[]> {
    private final ClientCall<byte[], byte[]> call;
    private final FuzzMethod method;
    private final List<byte[]> messages;
    private final boolean mustEnd;

    End(
        ClientCall<byte[], byte[]> call,
        FuzzMethod method,
        List<byte[]> messages,
        boolean mustEnd) {
      this.call = call;
      this.method = method;
      this.messages = messages;
      this.mustEnd = mustEnd;
    }

    @Override
    public void onMessage(byte[] answer) {
      if (method.unary()) {
        call.request(1);
      } else {
        call.cancel("the fuzzer has heard enough", null);
      }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      ends.computeIfAbsent(status.getCode(), code -> new LongAdder()).increment();
      if (status.isOk() || status.getCode() == Status.Code.FAILED_PRECONDITION) {
        reached.computeIfAbsent(method.name(), name -> new LongAdder()).increment();
      }
      boolean hung = mustEnd && status.getCode() == Status.Code.DEADLINE_EXCEEDED;
      if (DEFECTS.contains(status.getCode()) || hung) {
        String words = String.valueOf(status.getDescription()).replaceAll("[0-9a-f]{8}$", "…");
        String cause = status.getCause() == null ? "" : ", caused by " + status.getCause();
        offenders.putIfAbsent(
            method.name() + " " + status.getCode() + " " + words + cause, example(messages));
      }
      free.release();
    }
  }
}
