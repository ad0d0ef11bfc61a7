package dev.polis.etcd;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.etcd.jetcd.api.DeleteRangeRequest;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.ResponseOp;
import java.util.List;

/**
 * Translates between the project's types and etcd's messages, and adds and removes a namespace's
 * prefix.
 */
record Wire(ByteString prefix) {

  /** Holds a range in etcd's own terms. */
  record Bounds(ByteString key, ByteString end) {}

  // etcd: a range end of one zero byte means "to the end of all keys".
  private static final ByteString NO_END = ByteString.copyFrom(new byte[1]);

  static Wire of(EtcdNamespace namespace) {
    return new Wire(ByteString.copyFromUtf8(namespace.prefix()));
  }

  ByteString key(String key) {
    if (key.isEmpty()) {
      throw new IllegalArgumentException("an etcd key must not be empty");
    }
    return prefix.concat(ByteString.copyFromUtf8(key));
  }

  String key(ByteString absolute) {
    return absolute.substring(prefix.size()).toStringUtf8();
  }

  Bounds bounds(KeyRange range) {
    return switch (range) {
      case KeyRange.Single(String key) -> new Bounds(key(key), ByteString.EMPTY);
      case KeyRange.Prefix(String text) -> prefixed(prefix.concat(ByteString.copyFromUtf8(text)));
      case KeyRange.Between(String from, String to) -> new Bounds(key(from), key(to));
    };
  }

  private static Bounds prefixed(ByteString start) {
    return start.isEmpty() ? new Bounds(NO_END, NO_END) : new Bounds(start, after(start));
  }

  /** Returns the smallest key that sorts behind every key beginning with {@code start}. */
  private static ByteString after(ByteString start) {
    byte[] bytes = start.toByteArray();
    for (int last = bytes.length - 1; last >= 0; last--) {
      if (bytes[last] != (byte) 0xff) {
        bytes[last]++;
        return ByteString.copyFrom(bytes, 0, last + 1);
      }
    }
    return NO_END;
  }

  KeyValue keyValue(io.etcd.jetcd.api.KeyValue kv) {
    return new KeyValue(
        key(kv.getKey()),
        kv.getValue().toByteArray(),
        kv.getCreateRevision(),
        kv.getModRevision(),
        kv.getVersion(),
        kv.getLease());
  }

  List<KeyValue> keyValues(List<io.etcd.jetcd.api.KeyValue> kvs) {
    return kvs.stream().map(this::keyValue).toList();
  }

  RangeRequest range(KeyRange range, RangeOptions options) {
    Bounds bounds = bounds(range);
    return RangeRequest.newBuilder()
        .setKey(bounds.key())
        .setRangeEnd(bounds.end())
        .setLimit(options.limit())
        .setRevision(options.revision())
        .setKeysOnly(options.keysOnly())
        .build();
  }

  PutRequest put(String key, byte[] value, long lease) {
    return PutRequest.newBuilder()
        .setKey(key(key))
        .setValue(UnsafeByteOperations.unsafeWrap(value))
        .setLease(lease)
        .build();
  }

  DeleteRangeRequest delete(KeyRange range) {
    Bounds bounds = bounds(range);
    return DeleteRangeRequest.newBuilder().setKey(bounds.key()).setRangeEnd(bounds.end()).build();
  }

  RequestOp op(Op op) {
    RequestOp.Builder request = RequestOp.newBuilder();
    return switch (op) {
      case Op.Put put -> request.setRequestPut(put(put.key(), put.value(), put.lease())).build();
      case Op.Delete(KeyRange range) -> request.setRequestDeleteRange(delete(range)).build();
      case Op.Get(KeyRange range) ->
          request.setRequestRange(range(range, RangeOptions.DEFAULT)).build();
    };
  }

  OpResult result(ResponseOp response) {
    return switch (response.getResponseCase()) {
      case RESPONSE_PUT -> new OpResult.Stored();
      case RESPONSE_DELETE_RANGE ->
          new OpResult.Deleted(response.getResponseDeleteRange().getDeleted());
      case RESPONSE_RANGE ->
          new OpResult.Found(keyValues(response.getResponseRange().getKvsList()));
      case RESPONSE_TXN, RESPONSE_NOT_SET ->
          throw new IllegalStateException(
              "etcd answered a step with " + response.getResponseCase());
    };
  }

  io.etcd.jetcd.api.Compare compare(Compare compare) {
    io.etcd.jetcd.api.Compare.Builder built =
        io.etcd.jetcd.api.Compare.newBuilder()
            .setKey(key(compare.key()))
            .setResult(io.etcd.jetcd.api.Compare.CompareResult.EQUAL);
    return switch (compare.target()) {
      case CREATE_REVISION ->
          built
              .setTarget(io.etcd.jetcd.api.Compare.CompareTarget.CREATE)
              .setCreateRevision(compare.number())
              .build();
      case MOD_REVISION ->
          built
              .setTarget(io.etcd.jetcd.api.Compare.CompareTarget.MOD)
              .setModRevision(compare.number())
              .build();
    };
  }

  static io.etcd.jetcd.api.Compare compare(Fence fence) {
    return io.etcd.jetcd.api.Compare.newBuilder()
        .setKey(fence.key())
        .setResult(io.etcd.jetcd.api.Compare.CompareResult.EQUAL)
        .setTarget(io.etcd.jetcd.api.Compare.CompareTarget.CREATE)
        .setCreateRevision(fence.createRevision())
        .build();
  }
}
