package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.polis.base.digest.Sha256;
import dev.polis.rpc.RequestId;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Identifies the change that a call makes by its caller, the caller's id of it, and the request.
 */
public final class ChangeId {

  /** The key of the change in a call's context. */
  public static final Context.Key<ChangeId> KEY = Context.key("polis-change-id");

  private final String key;
  private final ByteString client;
  private final long number;
  private final MethodDescriptor<?, ?> method;
  private volatile ByteString digest = ByteString.EMPTY;

  /**
   * Creates the id of a change.
   *
   * @param caller names the caller and its key; no other caller has the same text
   */
  public ChangeId(String caller, RequestId id, MethodDescriptor<?, ?> method) {
    this.key = RecordKeys.CHANGES.key(Sha256.hex(caller.getBytes(StandardCharsets.UTF_8)));
    this.client = ByteString.copyFrom(HexFormat.of().parseHex(id.client()));
    this.number = id.number();
    this.method = method;
  }

  /** Returns the change that the calling thread's call makes; empty if the call has no id. */
  public static Optional<ChangeId> current() {
    return Optional.ofNullable(KEY.get());
  }

  /** Adds the request, before the call is served. */
  public void requested(MessageLite request) {
    MessageDigest sha = Sha256.begin();
    sha.update(method.getFullMethodName().getBytes(StandardCharsets.UTF_8));
    sha.update((byte) 0);
    digest = ByteString.copyFrom(sha.digest(request.toByteArray()));
  }

  /** Returns the key of the record of the caller's changes. */
  String key() {
    return key;
  }

  ByteString client() {
    return client;
  }

  long number() {
    return number;
  }

  ByteString digest() {
    return digest;
  }

  /** Reads an answer of the method. */
  // The method's answers have the type that its handler returns.
  @SuppressWarnings("unchecked")
  <A> A answer(ByteString stored) {
    return (A) method.parseResponse(stored.newInput());
  }
}
