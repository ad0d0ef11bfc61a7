package dev.polis.etcd;

import com.google.protobuf.UnknownFieldSet;
import io.etcd.jetcd.api.AlarmMember;
import io.etcd.jetcd.api.AlarmRequest;
import io.etcd.jetcd.api.AuthDisableRequest;
import io.etcd.jetcd.api.AuthEnableRequest;
import io.etcd.jetcd.api.AuthEnableResponse;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthRoleAddRequest;
import io.etcd.jetcd.api.AuthRoleDeleteRequest;
import io.etcd.jetcd.api.AuthRoleGetRequest;
import io.etcd.jetcd.api.AuthRoleGrantPermissionRequest;
import io.etcd.jetcd.api.AuthRoleListRequest;
import io.etcd.jetcd.api.AuthUserAddRequest;
import io.etcd.jetcd.api.AuthUserDeleteRequest;
import io.etcd.jetcd.api.AuthUserGetRequest;
import io.etcd.jetcd.api.AuthUserGrantRoleRequest;
import io.etcd.jetcd.api.AuthUserListRequest;
import io.etcd.jetcd.api.ClusterGrpc;
import io.etcd.jetcd.api.CompactionRequest;
import io.etcd.jetcd.api.DefragmentRequest;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.MaintenanceGrpc;
import io.etcd.jetcd.api.Member;
import io.etcd.jetcd.api.MemberAddRequest;
import io.etcd.jetcd.api.MemberListRequest;
import io.etcd.jetcd.api.MemberPromoteRequest;
import io.etcd.jetcd.api.MemberRemoveRequest;
import io.etcd.jetcd.api.MemberUpdateRequest;
import io.etcd.jetcd.api.MoveLeaderRequest;
import io.etcd.jetcd.api.Permission;
import io.etcd.jetcd.api.StatusRequest;
import io.etcd.jetcd.api.StatusResponse;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;

/**
 * Administers an etcd cluster: membership, users and roles, maintenance. Only a client of the root
 * namespace returns it. Calls block, with a default deadline of 10 s; unanswered changes end in
 * {@link EtcdOutcomeUnknownException}. A call for one member names its endpoint, which must be one
 * of the client's.
 */
public final class EtcdAdmin {

  // auth.proto of etcd 3.4 and later: AuthUserAddRequest.options = 3 { no_password = 1 }, which the
  // generated classes do not know.
  private static final int USER_ADD_OPTIONS = 3;
  private static final int NO_PASSWORD = 1;
  // rpc.proto: AlarmType.CORRUPT, unknown to the generated classes as well.
  private static final int ALARM_CORRUPT = 2;
  // rpc.proto of etcd 3.5 and later: the method AuthStatus, and AuthStatusResponse.enabled = 2,
  // both
  // unknown to the generated classes.
  private static final MethodDescriptor<AuthEnableRequest, AuthEnableResponse> AUTH_STATUS =
      AuthGrpc.getAuthEnableMethod().toBuilder()
          .setFullMethodName(
              MethodDescriptor.generateFullMethodName(AuthGrpc.SERVICE_NAME, "AuthStatus"))
          .build();
  private static final int AUTH_STATUS_ENABLED = 2;
  // A member that is up takes the leadership within a heartbeat; etcd itself waits for an election.
  private static final Duration MOVE = Duration.ofSeconds(2);
  // Long enough for a database of several GiB on a slow disk.
  private static final Duration DEFRAGMENT = Duration.ofMinutes(2);

  private final EtcdConnection connection;
  private final Duration deadline;

  EtcdAdmin(EtcdConnection connection, Duration deadline) {
    this.connection = connection;
    this.deadline = deadline;
  }

  // Members

  /** Returns all members, learners included. */
  public List<EtcdMember> members() throws InterruptedException {
    return members(
        read(
                ClusterGrpc.getMemberListMethod(),
                MemberListRequest.getDefaultInstance(),
                "list members")
            .getMembersList());
  }

  /**
   * Returns all members that the member at an endpoint knows, which answers even without quorum; it
   * may not know the newest change.
   *
   * @param within the time for the answer
   */
  public List<EtcdMember> members(EtcdEndpoint endpoint, Duration within)
      throws InterruptedException {
    return members(
        at(
                endpoint,
                ClusterGrpc.getMemberListMethod(),
                MemberListRequest.getDefaultInstance(),
                "list members",
                within)
            .getMembersList());
  }

  /**
   * Adds a learner, a member without a vote.
   *
   * @return the new member
   */
  public EtcdMember addLearner(List<String> peerUrls) throws InterruptedException {
    MemberAddRequest request =
        MemberAddRequest.newBuilder().addAllPeerURLs(peerUrls).setIsLearner(true).build();
    return member(
        write(ClusterGrpc.getMemberAddMethod(), request, "add member " + peerUrls).getMember());
  }

  /**
   * Gives a learner its vote.
   *
   * @throws EtcdRefusedException if it lags too far behind, or is no learner
   */
  public void promote(long memberId) throws InterruptedException {
    write(
        ClusterGrpc.getMemberPromoteMethod(),
        MemberPromoteRequest.newBuilder().setID(memberId).build(),
        "promote member " + Long.toHexString(memberId));
  }

  /**
   * Removes a member.
   *
   * @throws EtcdRefusedException if the rest would have no quorum
   */
  public void remove(long memberId) throws InterruptedException {
    write(
        ClusterGrpc.getMemberRemoveMethod(),
        MemberRemoveRequest.newBuilder().setID(memberId).build(),
        "remove member " + Long.toHexString(memberId));
  }

  /** Changes a member's URLs for other members. */
  public void updatePeerUrls(long memberId, List<String> peerUrls) throws InterruptedException {
    write(
        ClusterGrpc.getMemberUpdateMethod(),
        MemberUpdateRequest.newBuilder().setID(memberId).addAllPeerURLs(peerUrls).build(),
        "update member " + Long.toHexString(memberId));
  }

  private static List<EtcdMember> members(List<Member> members) {
    return members.stream().map(EtcdAdmin::member).toList();
  }

  private static EtcdMember member(Member member) {
    return new EtcdMember(
        member.getID(),
        member.getName(),
        member.getPeerURLsList(),
        member.getClientURLsList(),
        member.getIsLearner());
  }

  // Maintenance

  /** Returns the endpoints for the calls below. */
  public List<EtcdEndpoint> endpoints() {
    return connection.members().stream().map(EtcdChannels.Member::endpoint).toList();
  }

  /** Returns the status of the member at an endpoint, which answers even without quorum. */
  public EtcdStatus status(EtcdEndpoint endpoint) throws InterruptedException {
    return status(endpoint, deadline);
  }

  /** Returns the same, if it answers within this time. */
  public EtcdStatus status(EtcdEndpoint endpoint, Duration within) throws InterruptedException {
    StatusResponse status =
        at(
            endpoint,
            MaintenanceGrpc.getStatusMethod(),
            StatusRequest.getDefaultInstance(),
            "ask for its status",
            within);
    return new EtcdStatus(
        endpoint,
        status.getHeader().getMemberId(),
        status.getHeader().getClusterId(),
        status.getLeader(),
        status.getVersion(),
        status.getHeader().getRevision(),
        status.getRaftTerm(),
        status.getRaftIndex(),
        status.getRaftAppliedIndex(),
        status.getDbSize(),
        status.getDbSizeInUse(),
        status.getIsLearner(),
        status.getErrorsList());
  }

  /** Removes all states of keys older than {@code revision}, and waits until the space is free. */
  public void compact(long revision) throws InterruptedException {
    write(
        KVGrpc.getCompactMethod(),
        CompactionRequest.newBuilder().setRevision(revision).setPhysical(true).build(),
        "compact up to revision " + revision);
  }

  /**
   * Returns free space of one member's database to the disk; the member serves no client meanwhile.
   */
  public void defragment(EtcdEndpoint endpoint) throws InterruptedException {
    at(
        endpoint,
        MaintenanceGrpc.getDefragmentMethod(),
        DefragmentRequest.getDefaultInstance(),
        "defragment",
        DEFRAGMENT);
  }

  /** Begins a snapshot of one member's database, which the member answers even without quorum. */
  public EtcdSnapshot snapshot(EtcdEndpoint endpoint) {
    return new EtcdSnapshot(
        endpoint, memberAt(endpoint).channel(), MaintenanceGrpc.getSnapshotMethod());
  }

  /**
   * Makes another voting member the leader, within 2 s; only the present leader's endpoint accepts
   * this.
   */
  public void moveLeader(EtcdEndpoint leader, long toMemberId) throws InterruptedException {
    at(
        leader,
        MaintenanceGrpc.getMoveLeaderMethod(),
        MoveLeaderRequest.newBuilder().setTargetID(toMemberId).build(),
        "move the leadership to " + Long.toHexString(toMemberId),
        MOVE);
  }

  /** Returns all raised alarms. */
  public List<EtcdAlarm> alarms() throws InterruptedException {
    AlarmRequest request =
        AlarmRequest.newBuilder().setAction(AlarmRequest.AlarmAction.GET).build();
    return read(MaintenanceGrpc.getAlarmMethod(), request, "list alarms").getAlarmsList().stream()
        .map(EtcdAdmin::alarm)
        .toList();
  }

  private static EtcdAlarm alarm(AlarmMember alarm) {
    return new EtcdAlarm(
        alarm.getMemberID(),
        alarm.getAlarmValue() == ALARM_CORRUPT ? EtcdAlarm.Kind.CORRUPT : EtcdAlarm.Kind.NOSPACE);
  }

  /** Clears an alarm whose cause has been removed. */
  public void disarm(EtcdAlarm alarm) throws InterruptedException {
    int kind = alarm.kind() == EtcdAlarm.Kind.CORRUPT ? ALARM_CORRUPT : 1;
    write(
        MaintenanceGrpc.getAlarmMethod(),
        AlarmRequest.newBuilder()
            .setAction(AlarmRequest.AlarmAction.DEACTIVATE)
            .setMemberID(alarm.memberId())
            .setAlarmValue(kind)
            .build(),
        "disarm " + alarm);
  }

  // Users and roles

  /** Adds a user without a password, whose certificate has its name as the common name. */
  public void addUser(String name) throws InterruptedException {
    UnknownFieldSet noPassword =
        UnknownFieldSet.newBuilder()
            .addField(NO_PASSWORD, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
            .build();
    UnknownFieldSet options =
        UnknownFieldSet.newBuilder()
            .addField(
                USER_ADD_OPTIONS,
                UnknownFieldSet.Field.newBuilder()
                    .addLengthDelimited(noPassword.toByteString())
                    .build())
            .build();
    write(
        AuthGrpc.getUserAddMethod(),
        AuthUserAddRequest.newBuilder().setName(name).setUnknownFields(options).build(),
        "add user " + name);
  }

  /** Deletes a user. */
  public void deleteUser(String name) throws InterruptedException {
    write(
        AuthGrpc.getUserDeleteMethod(),
        AuthUserDeleteRequest.newBuilder().setName(name).build(),
        "delete user " + name);
  }

  /** Returns the names of all users. */
  public List<String> users() throws InterruptedException {
    return List.copyOf(
        read(AuthGrpc.getUserListMethod(), AuthUserListRequest.getDefaultInstance(), "list users")
            .getUsersList());
  }

  /** Returns the roles of a user. */
  public List<String> rolesOf(String user) throws InterruptedException {
    return List.copyOf(
        read(
                AuthGrpc.getUserGetMethod(),
                AuthUserGetRequest.newBuilder().setName(user).build(),
                "look up user " + user)
            .getRolesList());
  }

  /** Gives a user a role. */
  public void grantRole(String user, String role) throws InterruptedException {
    write(
        AuthGrpc.getUserGrantRoleMethod(),
        AuthUserGrantRoleRequest.newBuilder().setUser(user).setRole(role).build(),
        "grant role " + role + " to user " + user);
  }

  /** Adds a role without permissions. */
  public void addRole(String role) throws InterruptedException {
    write(
        AuthGrpc.getRoleAddMethod(),
        AuthRoleAddRequest.newBuilder().setName(role).build(),
        "add role " + role);
  }

  /** Deletes a role. */
  public void deleteRole(String role) throws InterruptedException {
    write(
        AuthGrpc.getRoleDeleteMethod(),
        AuthRoleDeleteRequest.newBuilder().setRole(role).build(),
        "delete role " + role);
  }

  /** Returns the names of all roles. */
  public List<String> roles() throws InterruptedException {
    return List.copyOf(
        read(AuthGrpc.getRoleListMethod(), AuthRoleListRequest.getDefaultInstance(), "list roles")
            .getRolesList());
  }

  /** Gives a role access to a part of the key space; a repeated call changes nothing. */
  public void grant(String role, EtcdPermission permission) throws InterruptedException {
    write(
        AuthGrpc.getRoleGrantPermissionMethod(),
        AuthRoleGrantPermissionRequest.newBuilder().setName(role).setPerm(wire(permission)).build(),
        "grant " + permission + " to role " + role);
  }

  /**
   * Returns the wanted permissions that a role lacks, also those with another access.
   *
   * @param wanted the permissions that it should have
   */
  public List<EtcdPermission> missing(String role, List<EtcdPermission> wanted)
      throws InterruptedException {
    List<Permission> present =
        read(
                AuthGrpc.getRoleGetMethod(),
                AuthRoleGetRequest.newBuilder().setRole(role).build(),
                "look up role " + role)
            .getPermList();
    return wanted.stream().filter(each -> !present.contains(wire(each))).toList();
  }

  private static Permission wire(EtcdPermission permission) {
    Wire.Bounds bounds = Wire.of(EtcdNamespace.ROOT).bounds(permission.range());
    return Permission.newBuilder()
        .setPermType(type(permission.access()))
        .setKey(bounds.key())
        .setRangeEnd(bounds.end())
        .build();
  }

  /** Returns whether authentication is on, so that roles limit the users. */
  public boolean authEnabled() throws InterruptedException {
    return read(AUTH_STATUS, AuthEnableRequest.getDefaultInstance(), "read the state of auth")
        .getUnknownFields()
        .getField(AUTH_STATUS_ENABLED)
        .getVarintList()
        .contains(1L);
  }

  /**
   * Turns authentication on, so that roles limit the users. Needs a user root with the role root.
   */
  public void enableAuth() throws InterruptedException {
    write(AuthGrpc.getAuthEnableMethod(), AuthEnableRequest.getDefaultInstance(), "enable auth");
  }

  public void disableAuth() throws InterruptedException {
    write(AuthGrpc.getAuthDisableMethod(), AuthDisableRequest.getDefaultInstance(), "disable auth");
  }

  private static Permission.Type type(EtcdPermission.Access access) {
    return switch (access) {
      case READ -> Permission.Type.READ;
      case WRITE -> Permission.Type.WRITE;
      case READ_WRITE -> Permission.Type.READWRITE;
    };
  }

  private <Q, R> R read(MethodDescriptor<Q, R> method, Q request, String what)
      throws InterruptedException {
    return connection.call(method, request, EtcdConnection.Effect.REPEATABLE, () -> what, deadline);
  }

  private <Q, R> R write(MethodDescriptor<Q, R> method, Q request, String what)
      throws InterruptedException {
    return connection.call(method, request, EtcdConnection.Effect.ONCE, () -> what, deadline);
  }

  private <Q, R> R at(
      EtcdEndpoint endpoint, MethodDescriptor<Q, R> method, Q request, String what, Duration within)
      throws InterruptedException {
    EtcdConnection.SentTracer sent = new EtcdConnection.SentTracer();
    try {
      return connection.once(memberAt(endpoint).channel(), method, request, sent, within.toNanos());
    } catch (StatusRuntimeException failure) {
      Status status = failure.getStatus();
      throw EtcdFailure.of(status, sent.sent()).exception(what, endpoint, status, failure);
    }
  }

  private EtcdChannels.Member memberAt(EtcdEndpoint endpoint) {
    return connection.members().stream()
        .filter(member -> member.endpoint().equals(endpoint))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "endpoint "
                        + endpoint
                        + " is none of this client's "
                        + endpoints()
                        + "; name one of them or open a client for it"));
  }
}
