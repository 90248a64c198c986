{{- if .Values.autoscaling.enabled }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .Release.Name }}
  labels: { app: {{ .Release.Name }} }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }} }
  minReplicas: {{ .Values.autoscaling.minReplicas }}
  maxReplicas: {{ .Values.autoscaling.maxReplicas }}
  metrics:
    - type: Pods
      pods:
        metric: { name: tool_calls_in_flight }
        target: { type: AverageValue, averageValue: {{ .Values.autoscaling.callsInFlight | quote }} }
  behavior:
    scaleDown: { stabilizationWindowSeconds: 300 }
{{- end }}
