apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: { app: {{ .Release.Name }} }
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  selector:
    matchLabels: { app: {{ .Release.Name }} }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "9090"
    spec:
      # timeouts.notice (5 s) and timeouts.grace (30 s) of the config, 2 s to close everything, and some room.
      terminationGracePeriodSeconds: 40
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: { app: {{ .Release.Name }} }
      containers:
        - name: gateway
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          ports:
            - { name: http, containerPort: 8080 }
            - { name: scrape, containerPort: 9090 }
          envFrom:
            - secretRef:
                name: {{ .Values.secret | default .Release.Name }}
            - configMapRef:
                name: {{ .Release.Name }}
          env:
            - name: STORE
              valueFrom:
                secretKeyRef:
                  name: {{ .Values.secret | default .Release.Name }}
                  key: STORE
          startupProbe:
            httpGet: { path: /livez, port: http }
            periodSeconds: 1
            failureThreshold: 60
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
          livenessProbe:
            httpGet: { path: /livez, port: http }
            periodSeconds: 10
            failureThreshold: 3
          resources: {{ toJson .Values.resources }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - { name: data, mountPath: /app/data }
            - { name: tmp, mountPath: /tmp }
      volumes:
        {{- if .Values.data.claim }}
        - name: data
          persistentVolumeClaim:
            claimName: {{ .Values.data.claim }}
        {{- else }}
        - { name: data, emptyDir: {} }
        {{- end }}
        - { name: tmp, emptyDir: {} }
